package io.pgbus.store;

import java.time.Instant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;

/**
 * Reads rows of backfills, and makes events of them with the key and the JSON that the
 * changes of these rows have.
 */
final class ChunkReader {

	static final String TYPE = "read";

	/** By value: the text of values must mean the same as in the stream of changes. */
	private static final String PARTITIONS = """
			select {bus}.partition_of_key(k.key, :partitions) from unnest(:keys::text[]) with ordinality as k(key, n)
			order by k.n
			""";

	private static final Duration CONVERSION_TIMEOUT = Duration.ofMinutes(1);

	private final BusDatabase database;

	private final int groupId;

	private final RowConverter converter;

	/** Queries that were checked, by backfill. */
	private final Map<Integer, BackfillQuery> queries = new ConcurrentHashMap<>();

	ChunkReader(BusDatabase database, int groupId) {
		this.database = database;
		this.groupId = groupId;
		this.converter = new RowConverter(database, CONVERSION_TIMEOUT, new RelationCatalog(database));
	}

	/**
	 * Looks up what is to be read.
	 * @param backfill the backfill
	 * @return what to read
	 * @throws io.pgbus.PgBusException if the table is gone
	 * @throws IllegalArgumentException if the query does not fit any more
	 */
	BackfillQuery query(BackfillRow backfill) {
		return this.queries.computeIfAbsent(backfill.id(), (id) -> {
			BackfillTables tables = new BackfillTables(this.database, new RelationCatalog(this.database));
			return tables.query(tables.describe(backfill.schema(), backfill.table()), backfill.query(),
					backfill.filter());
		});
	}

	/** Looks again the next time: the table may have changed. */
	void forget(BackfillRow backfill) {
		this.queries.remove(backfill.id());
	}

	/**
	 * Reads rows, by one statement in the transaction at hand.
	 * @param backfill the backfill
	 * @param query what to read
	 * @param lower the primary key behind which they are, or {@code null}
	 * @param upper the primary key up to which they are, or {@code null}
	 * @return the rows
	 * @throws DataAccessException if PostgreSQL refuses
	 */
	ChunkRows read(BackfillRow backfill, BackfillQuery query, @Nullable List<String> lower,
			@Nullable List<String> upper) {
		this.database.own(RowSql.settings(backfill.timeoutMillis())).query().listOfRows();
		Set<Integer> missing = query.missing();
		List<Integer> columns = query.columnsOfRows();
		int size = query.table().relation().columns().size();
		int limit = backfill.chunkRows();
		ChunkRows rows = this.database.ownVerbatim(query.read(lower != null, upper != null))
			.params(query.parameters(lower, upper, limit, backfill.chunkBytes()))
			.query((row) -> {
				List<RowImage> images = new ArrayList<>();
				List<String[]> keys = new ArrayList<>();
				String snapshot = null;
				long total = 0;
				while (row.next()) {
					snapshot = row.getString(1);
					total = row.getLong(2);
					@Nullable String[] values = new String[size];
					for (int i = 0; i < columns.size(); i++) {
						values[columns.get(i)] = row.getString(i + 3);
					}
					images.add(new RowImage(java.util.Arrays.asList(values), missing));
					keys.add(query.table().key().stream().map((column) -> values[column]).toArray(String[]::new));
				}
				boolean isLast = images.size() == total && total < limit;
				return new ChunkRows(query, snapshot, images, keys, isLast);
			});
		this.database.own("select set_config('statement_timeout', '0', true)").query().listOfRows();
		return rows;
	}

	/**
	 * Makes events of rows, numbered from 1.
	 * @param backfill the backfill
	 * @param rows the rows
	 * @return the events
	 */
	List<StoredEvent> events(BackfillRow backfill, ChunkRows rows) {
		TypedRelation table = rows.query().table().typed();
		synchronized (this.converter) {
			this.converter.convert(table, rows.images(), List.of(), true);
		}
		List<String> keys = rows.images().stream().map((image) -> ChunkReader.key(rows.query(), image)).toList();
		List<Integer> partitions = this.database.own(PARTITIONS)
			.param("partitions", backfill.partitions())
			.param("keys", keys.toArray(new String[0]))
			.query((row, index) -> row.getInt(1))
			.list();
		String headers = ChangePayload.headers(Map.of(this.groupId, ChangeRule.IN));
		Instant now = Instant.now();
		List<StoredEvent> events = new ArrayList<>();
		for (int i = 0; i < keys.size(); i++) {
			RowImage image = rows.images().get(i);
			events.add(new StoredEvent(i + 1, TYPE, keys.get(i), payload(backfill, rows.query(), image), headers, now,
					false, partitions.get(i)));
		}
		return events;
	}

	/** Where changes of the table have no key of their own, reads have none either. */
	private static String key(BackfillQuery query, RowImage image) {
		return ChangePayload.eventKey(query.table().typed(), image);
	}

	private static String payload(BackfillRow backfill, BackfillQuery query, RowImage image) {
		TypedRelation table = query.table().typed();
		ChangePayload payload = new ChangePayload().text("table", backfill.qualifiedName());
		payload.raw("key", ChangePayload.keyObject(table, image));
		payload.raw("record", image.json());
		payload.names("unavailable", ChangePayload.names(table.relation(), image.missing()));
		return payload.raw("backfill", String.valueOf(backfill.id())).toString();
	}

}
