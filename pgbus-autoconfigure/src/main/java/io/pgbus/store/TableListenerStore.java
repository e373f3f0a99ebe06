package io.pgbus.store;

import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

import io.pgbus.ListenedTable;
import io.pgbus.TableOperation;
import org.postgresql.replication.LogSequenceNumber;

import org.springframework.dao.DataAccessException;

/**
 * Which groups listen to which tables. In this order a listener comes to its changes:
 * <ol>
 * <li>the tables are resolved and put into the publication;</li>
 * <li>{@link #check} says whether what the group wants can be had;</li>
 * <li>{@link GroupStore#create} makes the group, the {@link PublishedTable#stream()
 * streams} and the cursors;</li>
 * <li>{@link #subscribe} lets the capture append what the group wants, from then on;</li>
 * <li>the listener reads the streams through the {@link #eventFilter event filter}.</li>
 * </ol>
 *
 * @since 0.1.0
 */
public final class TableListenerStore {

	/** Nothing is evaluated, so this is for the planner alone. */
	private static final Duration CHECK_TIMEOUT = Duration.ofSeconds(30);

	/** Who looks is not held up. */
	private static final String LOCK = "lock table {bus}.table_listener in share row exclusive mode";

	private static final String MARK_STREAM = """
			insert into {bus}.table_stream (stream_id, schema_name, table_name)
			select s.id, :schema, :table from {bus}.stream s where s.name = :stream
			on conflict do nothing
			""";

	private static final String SUBSCRIBE = """
			insert into {bus}.table_listener as l
				(group_id, schema_name, table_name, stream_id, filter, operations, columns, since)
			select :groupId, :schema, :table, s.id, :filter::text, :operations::text[], :columns::text[],
				pg_current_wal_insert_lsn()
			from {bus}.stream s where s.name = :stream
			on conflict (group_id, schema_name, table_name) do update
			set stream_id = excluded.stream_id, filter = excluded.filter, operations = excluded.operations,
				columns = excluded.columns
			returning *, (select g.name from {bus}.consumer_group g where g.id = l.group_id) as group_name,
				(select s.partitions from {bus}.stream s where s.id = l.stream_id) as partitions
			""";

	/** All subscriptions, whose stream is s. */
	static final String ALL = """
			select l.*, g.name as group_name, s.partitions
			from {bus}.table_listener l
			join {bus}.consumer_group g on g.id = l.group_id
			join {bus}.stream s on s.id = l.stream_id
			order by l.schema_name, l.table_name, l.group_id
			""";

	/**
	 * What of a table's stream is for a group. A change is passed over if its row was
	 * delivered by a backfill that saw it: the row with its key is in a chunk whose
	 * snapshot sees the change (see {@link ChunkStore}). Rows of a chunk that is being
	 * worked on may not be delivered yet. The truncation of a table counts as seen if
	 * every chunk has seen it. Reads are in the stream only as failures, which are tried
	 * again by themselves. Whether the group has such a backfill at all is asked once for
	 * all events of a read.
	 */
	private static final String EVENT_FILTER = """
			headers ? '%1$s' and type <> '%2$s' and not (exists (
				select from {bus}.backfill b where b.group_id = %3$d and b.joins_live
			) and exists (
				select from {bus}.backfill b
				where b.group_id = %3$d and b.stream_id = e.stream_id and b.joins_live
				and (event.payload ->> 'xid')::xid8 < b.max_xmax
				and case
					when event.type = 'truncate' then not exists (
						select from {bus}.backfill_chunk k
						where k.backfill_id = b.id
						and not pg_visible_in_snapshot((event.payload ->> 'xid')::xid8, k.snapshot)
					)
					else exists (
						select from {bus}.backfill_key r
						join {bus}.backfill_chunk k on k.id = r.chunk_id
						where r.backfill_id = b.id and r.key_hash = hashtextextended(event.key collate "C", 0)
						and k.state = 'done' and r.ordinal <= k.rows
						and pg_visible_in_snapshot((event.payload ->> 'xid')::xid8, k.snapshot)
					)
				end
			))""";

	private final BusDatabase database;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public TableListenerStore(BusDatabase database) {
		this.database = database;
	}

	/**
	 * Returns the filter through which a group reads the streams of its tables: the
	 * streams also have what only other groups want.
	 * @param groupId the group
	 * @return the filter, for {@link Subscription}
	 */
	public static String eventFilter(int groupId) {
		return EVENT_FILTER.formatted(header(groupId), ChunkReader.TYPE, groupId);
	}

	/**
	 * Returns the header that says why a group gets a change: {@code in}, {@code leaves},
	 * or {@code error: } and a message where its filter failed.
	 * @param groupId the group
	 * @return the name of the header
	 */
	public static String header(int groupId) {
		return "group-" + groupId;
	}

	/**
	 * Checks filters and columns against the tables as they are, apart from the caller's
	 * transaction. Nothing is changed.
	 * @param tables the tables
	 * @throws IllegalArgumentException if something cannot be had, with the reason
	 */
	public void check(Collection<TableInterest> tables) {
		Set<String> names = new HashSet<>();
		RelationCatalog catalog = new RelationCatalog(this.database);
		for (TableInterest interest : tables) {
			String name = interest.table().qualifiedName();
			if (!names.add(name)) {
				throw new IllegalArgumentException("A table listener names the table " + name
						+ " twice. Name it once, with one filter, or use two groups.");
			}
			Relation relation = catalog.today(interest.table());
			checkColumns(interest, relation);
			String filter = interest.wanted().filter();
			if (filter != null) {
				checkFilter(relation, catalog, filter);
			}
		}
	}

	private static void checkColumns(TableInterest interest, Relation relation) {
		ListenedTable wanted = interest.wanted();
		String name = interest.table().qualifiedName();
		for (String column : wanted.columns()) {
			if (relation.columns().stream().noneMatch((existing) -> existing.name().equals(column))) {
				throw new IllegalArgumentException("The table listener for " + name + " names the column \"" + column
						+ "\", which is not among those whose changes are in the stream: " + columnNames(relation)
						+ ". Generated columns are only if they are stored, from PostgreSQL 18 on.");
			}
		}
		if (!wanted.columns().isEmpty() && !relation.wholeRows()) {
			throw new IllegalArgumentException("The table listener for " + name
					+ " names columns that an update must have changed, but the stream of changes has the old values "
					+ "only of a table whose replica identity is full. Name no columns, or run: alter table "
					+ RowSql.quote(relation.schema()) + '.' + RowSql.quote(relation.name()) + " replica identity full");
		}
	}

	private void checkFilter(Relation relation, RelationCatalog catalog, String filter) {
		catalog.describe(List.of(relation));
		try {
			new RowConverter(this.database, CHECK_TIMEOUT, catalog).check(catalog.get(relation), filter);
		}
		catch (DataAccessException ex) {
			if (DatabaseTrouble.of(ex) != DatabaseTrouble.NONE) {
				throw ex;
			}
			throw new IllegalArgumentException("PostgreSQL does not take the filter [" + filter + "] for "
					+ PublishedTable.qualifiedName(relation.schema(), relation.name()) + ": "
					+ ex.getMostSpecificCause().getMessage()
					+ ". A filter is a condition on the columns of a row, as far as the stream of changes has them: "
					+ columnNames(relation) + ".", ex);
		}
	}

	private static List<String> columnNames(Relation relation) {
		return relation.columns().stream().map(Relation.Column::name).toList();
	}

	/**
	 * Subscribes a group to tables whose streams exist, in a transaction of its own. What
	 * is committed to a table after this returns will be appended to the table's stream,
	 * if the group wants it. A table to which the group is subscribed already is changed
	 * to what it wants now, for changes that have not been captured yet.
	 * @param groupId the group
	 * @param tables the tables
	 * @return the subscriptions, in the order of the tables
	 * @throws IllegalArgumentException if something cannot be had, as {@link #check} says
	 */
	public List<TableSubscription> subscribe(int groupId, Collection<TableInterest> tables) {
		check(tables);
		List<TableSubscription> subscriptions = new ArrayList<>();
		this.database.ownTransaction().executeWithoutResult((status) -> {
			subscriptions.clear();
			tables.forEach((interest) -> subscriptions.add(subscribe(groupId, interest)));
		});
		return subscriptions;
	}

	private TableSubscription subscribe(int groupId, TableInterest interest) {
		PublishedTable table = interest.table();
		this.database.own(MARK_STREAM)
			.param("schema", table.schema())
			.param("table", table.name())
			.param("stream", table.stream())
			.update();
		return this.database.own(SUBSCRIBE)
			.param("groupId", groupId)
			.param("schema", table.schema())
			.param("table", table.name())
			.param("stream", table.stream())
			.param("filter", interest.wanted().filter())
			.param("operations",
					interest.wanted().operations().stream().map(Enum::name).sorted().toArray(String[]::new))
			.param("columns", interest.wanted().columns().stream().sorted().toArray(String[]::new))
			.query((row, index) -> read(row))
			.optional()
			.orElseThrow(() -> new IllegalStateException(
					"There is no stream \"" + table.stream() + "\": it is made before the group subscribes"));
	}

	/**
	 * Runs work while no group can subscribe to a table or end that, in a transaction of
	 * its own.
	 * @param work is given all subscriptions
	 */
	public void runWhileTheyStay(Consumer<List<TableSubscription>> work) {
		this.database.ownTransaction().executeWithoutResult((status) -> {
			this.database.own(LOCK).update();
			work.accept(subscriptions());
		});
	}

	/**
	 * Returns all subscriptions of all groups, in one cheap query apart from the caller's
	 * transaction.
	 * @return the subscriptions
	 */
	public List<TableSubscription> subscriptions() {
		return this.database.own(ALL).query((row, index) -> read(row)).list();
	}

	static TableSubscription read(ResultSet row) throws SQLException {
		Set<TableOperation> operations = EnumSet.noneOf(TableOperation.class);
		texts(row.getArray("operations")).forEach((name) -> operations.add(TableOperation.valueOf(name)));
		return new TableSubscription(row.getInt("group_id"), row.getString("group_name"), row.getString("schema_name"),
				row.getString("table_name"), row.getInt("stream_id"), row.getInt("partitions"), row.getString("filter"),
				operations, Set.copyOf(texts(row.getArray("columns"))),
				LogSequenceNumber.valueOf(row.getString("since")).asLong());
	}

	private static List<String> texts(Array array) throws SQLException {
		return Arrays.asList((String[]) array.getArray());
	}

}
