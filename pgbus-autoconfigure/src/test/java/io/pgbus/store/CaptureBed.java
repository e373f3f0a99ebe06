package io.pgbus.store;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.pgbus.ListenedTable;
import io.pgbus.StartPosition;
import io.pgbus.TableOperation;
import io.pgbus.store.RowChange.Row;
import io.pgbus.testing.TestDatabase;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * A bus on a fresh database to which tests hand changes of its tables as if they came
 * from the stream of changes: the text of values is what the types' output functions say.
 */
final class CaptureBed implements AutoCloseable {

	final TestDatabase testDatabase = TestDatabase.create();

	final BusDatabase database = new BusDatabase(this.testDatabase.dataSource(), "pgbus");

	final TableListenerStore listeners = new TableListenerStore(this.database);

	final CaptureStore capture = new CaptureStore(this.database, this.listeners, Duration.ofSeconds(20));

	final GroupStore groups = new GroupStore(this.database, new StreamStore(this.database, Map.of()));

	final JdbcClient jdbc = this.testDatabase.jdbc();

	private final Map<String, Relation> relations = new HashMap<>();

	private CaptureCheckpoint checkpoint;

	private long commit = 1L << 40;

	CaptureBed() {
		new SchemaInitializer(this.database).migrate();
		this.checkpoint = this.capture.begin("test", "slot", "1", 1);
	}

	/** Subscribes a group and returns its id. */
	int subscribe(String group, String table, ListenedTable wanted) {
		PublishedTable published = published(table);
		int groupId = this.groups.create(group, List.of(published.stream()), StartPosition.latest()).groupId();
		this.listeners.subscribe(groupId, List.of(new TableInterest(published, wanted)));
		return groupId;
	}

	int subscribe(String group, String table, @Nullable String filter, TableOperation... operations) {
		return subscribe(group, table, ListenedTable.of(table).filter(filter).operations(operations));
	}

	PublishedTable published(String table) {
		return this.jdbc.sql("""
				select c.oid::bigint as id, n.nspname, c.relname, c.relreplident = 'f' as whole
				from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = ?::regclass""")
			.param(table)
			.query((row, index) -> new PublishedTable((int) row.getLong("id"), row.getString("nspname"),
					row.getString("relname"), row.getBoolean("whole")))
			.single();
	}

	/** The relation as the stream describes it, until {@link #forget}. */
	Relation relation(String table) {
		return this.relations.computeIfAbsent(table, (key) -> {
			PublishedTable published = published(key);
			Relation relation = new RelationCatalog(this.database).today(published);
			Set<String> identity = Set.copyOf(this.jdbc.sql("""
					select a.attname::text from pg_class c
					join pg_index i on i.indrelid = c.oid
						and (c.relreplident = 'd' and i.indisprimary or c.relreplident = 'i' and i.indisreplident)
					join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
					where c.oid = ?::regclass""").param(key).query(String.class).list());
			return new Relation(relation.id(), relation.schema(), relation.name(), relation.wholeRows(),
					relation.columns()
						.stream()
						.map((column) -> new Relation.Column(column.name(), column.typeId(), column.typeModifier(),
								relation.wholeRows() || identity.contains(column.name())))
						.toList());
		});
	}

	void forget(String table) {
		this.relations.remove(table);
	}

	/** Reads rows of a table as the stream would have them. */
	List<Row> rows(String table, String condition) {
		Relation relation = relation(table);
		String columns = relation.columns().stream().map((column) -> {
			String name = RowSql.quote(column.name());
			// a composite of nulls is not distinct from null only if it is null
			return "case when num_nulls(" + name + ") = 0 then format('%s', " + name + ") end";
		}).collect(Collectors.joining(", "));
		return Objects.requireNonNull(this.database.ownTransaction().execute((status) -> {
			this.database.own(RowSql.settings(0)).query().listOfRows();
			return this.database.own("select " + columns + " from " + table + " where " + condition)
				.query((row, index) -> {
					@Nullable String[] values = new String[relation.columns().size()];
					for (int i = 0; i < values.length; i++) {
						values[i] = row.getString(i + 1);
					}
					return new Row(Arrays.asList(values), Set.of());
				})
				.list();
		}));
	}

	/** The same without the values that are not part of the identity. */
	Row identity(String table, Row row) {
		Relation relation = relation(table);
		return new Row(IntStream.range(0, row.values().size())
			.mapToObj((i) -> relation.columns().get(i).inIdentity() ? row.values().get(i) : null)
			.collect(Collectors.toCollection(ArrayList::new)), Set.of());
	}

	static Row unchanged(Row row, Integer... columns) {
		List<@Nullable String> values = new ArrayList<>(row.values());
		Arrays.asList(columns).forEach((column) -> values.set(column, null));
		return new Row(values, Set.of(columns));
	}

	/** Appends changes as one whole transaction. */
	CaptureStore.Appended append(RowChange... changes) {
		return append(List.of(changes));
	}

	CaptureStore.Appended append(List<RowChange> changes) {
		CaptureStore.Appended appended = this.capture.append(this.checkpoint, changes,
				new CapturePosition(this.commit, CapturePosition.WHOLE));
		this.checkpoint = appended.checkpoint();
		this.commit++;
		return appended;
	}

	CaptureStore.Appended append(List<RowChange> changes, CapturePosition to) {
		CaptureStore.Appended appended = this.capture.append(this.checkpoint, changes, to);
		this.checkpoint = appended.checkpoint();
		return appended;
	}

	CaptureCheckpoint checkpoint() {
		return this.checkpoint;
	}

	CapturePosition position(long ordinal) {
		return new CapturePosition(this.commit, ordinal);
	}

	RowChange insert(String table, Row record) {
		return change(TableOperation.INSERT, table, record, null);
	}

	RowChange update(String table, Row record, @Nullable Row previous) {
		return change(TableOperation.UPDATE, table, record, previous);
	}

	RowChange delete(String table, Row previous) {
		return change(TableOperation.DELETE, table, null, previous);
	}

	RowChange change(TableOperation operation, String table, @Nullable Row record, @Nullable Row previous) {
		return new RowChange(operation, relation(table), record, previous, position(1), 3, Instant.EPOCH);
	}

	/** What was appended since the last call, in order. */
	List<Event> events() {
		List<Event> events = this.jdbc.sql("""
				select e.type, e.key, e.payload::text, e.headers::text, s.name as stream, e.partition
				from pgbus.event e join pgbus.stream s on s.id = e.stream_id order by e.id""")
			.query((row, index) -> new Event(row.getString("type"), row.getString("key"), row.getString("payload"),
					row.getString("headers"), row.getString("stream"), row.getInt("partition")))
			.list();
		this.jdbc.sql("delete from pgbus.event").update();
		return events;
	}

	@Override
	public void close() {
		this.testDatabase.close();
	}

	/**
	 * An event.
	 *
	 * @param type the type
	 * @param key the key
	 * @param payload the payload
	 * @param headers the headers
	 * @param stream the stream
	 * @param partition the partition
	 */
	record Event(String type, String key, String payload, String headers, String stream, int partition) {

	}

}
