package io.pgbus.store;

import java.util.List;
import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;

/**
 * The rows of chunks and backfills, as {@link ChunkStore} changes them. Everything joins
 * the bus's own transaction at hand.
 */
final class ChunkTable {

	private static final Logger logger = LoggerFactory.getLogger(ChunkTable.class);

	private static final String LOCK_BACKFILL = """
			select %s from {bus}.backfill b join {bus}.stream on stream.id = b.stream_id
			where b.id = (select k.backfill_id from {bus}.backfill_chunk k where k.id = :id)
			for no key update of b
			""".formatted(BackfillRow.COLUMNS);

	/** The state goes: it was this version, or the chunk is another's. */
	private static final String END_STATE = """
			with ended as (
				delete from {bus}.cursor_state s where s.cursor_id = -:id::integer and s.version = :version
				returning s.cursor_id, s.position
			),
			done as (
				delete from {bus}.ledger l using ended e where l.cursor_id = e.cursor_id returning l.event_id
			)
			select greatest(e.position, (select max(event_id) from done)) from ended e
			""";

	/** The row that was done last ends the chunk. */
	private static final String CLOSE = """
			with seen as (
				select k.id, k.lower_key, k.upper_key, k.rows, k.abandoned, (
					select array_agg(u.part order by u.n)
					from unnest(k.row_keys) with ordinality as u(part, n)
					where (u.n - 1) / (cardinality(k.row_keys) / k.rows) = :done - 1
				) as last_key
				from {bus}.backfill_chunk k where k.id = :id
			),
			closed as (
				update {bus}.backfill_chunk k
				set state = 'done', rows = :done, row_keys = null,
					upper_key = case when :done < s.rows then coalesce(s.last_key, s.lower_key) else s.upper_key end
				from seen s where k.id = s.id
			)
			select coalesce(last_key, lower_key) as lower_key, upper_key, :done < rows and not abandoned as goes_on from seen
			""";

	private static final String COUNT = """
			update {bus}.backfill b
			set rows_read = rows_read + :rows, chunks_done = chunks_done + 1
			where b.id = :backfillId
			""";

	private static final String ADD = """
			insert into {bus}.backfill_chunk (backfill_id, lower_key, upper_key, snapshot, state, rows, row_keys)
			values (:backfillId, :lower::text[], :upper::text[], :snapshot::pg_snapshot, 'open', :rows, :keys::text[])
			returning id
			""";

	private static final String ADD_STATE = """
			insert into {bus}.cursor_state (cursor_id, version, owner, worker, claimed_at, reading_to, ceiling, position,
				low_snapshot, low_floor, low_bound, high_snapshot, high_floor, high_bound)
			values (-:id::integer, 1, :consumerId, :worker, clock_timestamp(), :rows, :rows, 0, '3:3:', 0, '3', '3:3:', 0, '3')
			""";

	private static final String SEEN = """
			update {bus}.backfill b
			set max_xmax = greatest(max_xmax, pg_snapshot_xmax(:snapshot::pg_snapshot))
			where b.id = :backfillId
			""";

	private static final String PLANNED = """
			update {bus}.backfill b
			set planned_to = coalesce(:plannedTo::text[], planned_to), planned = :planned,
				next_chunk_at = greatest(next_chunk_at, clock_timestamp())
					+ coalesce(make_interval(secs => :rows::double precision / rows_per_second), interval '0')
			where b.id = :backfillId
			""";

	private static final String ADD_KEYS = """
			insert into {bus}.backfill_key (backfill_id, key_hash, chunk_id, ordinal)
			select :backfillId, hashtextextended(k.key collate "C", 0), :id, k.n
			from unnest(:keys::text[]) with ordinality as k(key, n)
			on conflict do nothing
			""";

	private static final String END_IF_DONE = """
			update {bus}.backfill b set state = 'done', finished_at = clock_timestamp(), error = null
			where b.id = :backfillId and b.state = 'running' and b.planned
			and not exists (select from {bus}.backfill_chunk k where k.backfill_id = b.id and k.state = 'open')
			""";

	/** Nobody asks which rows were read when. */
	private static final String FORGET = """
			delete from {bus}.backfill_chunk k using {bus}.backfill b
			where k.backfill_id = :backfillId and b.id = k.backfill_id and not b.joins_live
			""";

	private static final String FAIL = """
			update {bus}.backfill b set state = 'failed', error = :error
			where b.id = :backfillId and b.state = 'running'
			""";

	private final BusDatabase database;

	private final BackfillLog log;

	ChunkTable(BusDatabase database) {
		this.database = database;
		this.log = new BackfillLog(database);
	}

	/** Returns {@code null} if the chunk is gone. */
	@Nullable BackfillRow lockBackfillOf(int chunkId) {
		return this.database.own(LOCK_BACKFILL)
			.param("id", chunkId)
			.query((row, index) -> BackfillRow.read(row))
			.optional()
			.orElse(null);
	}

	/**
	 * Ends the state of a chunk.
	 * @return the number of the row that was done last, or {@code null} if the state is
	 * another by now
	 */
	@Nullable Long endState(int chunkId, long version) {
		return this.database.own(END_STATE)
			.param("id", chunkId)
			.param("version", version)
			.query(Long.class)
			.optional()
			.orElse(null);
	}

	/**
	 * Ends a chunk at a row.
	 * @return the bounds of the rows behind it
	 */
	Rest close(int chunkId, long done) {
		return this.database.own(CLOSE)
			.param("id", chunkId)
			.param("done", (int) done)
			.query((row, index) -> new Rest(BackfillRow.texts(row.getArray("lower_key")),
					BackfillRow.texts(row.getArray("upper_key")), row.getBoolean("goes_on")))
			.single();
	}

	void count(int backfillId, long rows) {
		this.database.own(COUNT).param("rows", rows).param("backfillId", backfillId).update();
	}

	/** Adds a chunk, and its state. */
	int add(BackfillRow backfill, ChunkRows rows, @Nullable List<String> lower, @Nullable List<String> upper,
			Holder holder) {
		int size = rows.images().size();
		int id = add(backfill, rows, lower, upper, size, rows.keys().toArray(new String[0][]));
		addState(id, size, holder);
		return id;
	}

	/**
	 * Adds a chunk behind rows, for someone to take over: it has a row that nobody does,
	 * so all of its rows are read then.
	 */
	void addUnread(BackfillRow backfill, ChunkRows rows, @Nullable List<String> upper) {
		String[] lower = rows.lastKey();
		addState(add(backfill, rows, List.of(lower), upper, 1, new String[][] { lower }), 1, null);
	}

	private int add(BackfillRow backfill, ChunkRows rows, @Nullable List<String> lower, @Nullable List<String> upper,
			int size, String[][] keys) {
		String snapshot = Objects.requireNonNull(rows.snapshot());
		this.database.own(SEEN).param("snapshot", snapshot).param("backfillId", backfill.id()).update();
		return this.database.own(ADD)
			.param("backfillId", backfill.id())
			.param("lower", (lower != null) ? lower.toArray(new String[0]) : null)
			.param("upper", (upper != null) ? upper.toArray(new String[0]) : null)
			.param("snapshot", snapshot)
			.param("rows", size)
			.param("keys", keys)
			.query(Integer.class)
			.single();
	}

	private void addState(int id, int rows, @Nullable Holder holder) {
		this.database.own(ADD_STATE)
			.param("id", id)
			.param("consumerId", (holder != null) ? holder.consumerId() : null)
			.param("worker", (holder != null) ? holder.worker() : null)
			.param("rows", rows)
			.update();
	}

	void planned(int backfillId, String @Nullable [] to, boolean isAll, int rows) {
		this.database.own(PLANNED)
			.param("plannedTo", to)
			.param("planned", isAll)
			.param("rows", rows)
			.param("backfillId", backfillId)
			.update();
	}

	void addKeys(int backfillId, int chunkId, List<StoredEvent> events) {
		this.database.own(ADD_KEYS)
			.param("backfillId", backfillId)
			.param("id", chunkId)
			.param("keys", events.stream().map(StoredEvent::key).toArray(String[]::new))
			.update();
	}

	boolean endIfDone(int backfillId) {
		boolean isDone = this.database.own(END_IF_DONE).param("backfillId", backfillId).update() > 0;
		if (isDone) {
			this.database.own(FORGET).param("backfillId", backfillId).update();
			this.log.done(backfillId);
		}
		return isDone;
	}

	/** What was dealt with is committed. */
	void progressed(int backfillId) {
		this.log.progressed(backfillId);
	}

	void fail(BackfillRow backfill, RuntimeException ex) {
		String reason = (ex instanceof DataAccessException access)
				? String.valueOf(access.getMostSpecificCause().getMessage()) : String.valueOf(ex.getMessage());
		this.database.own(FAIL).param("error", reason).param("backfillId", backfill.id()).update();
		logger.error("Backfill {} of {} has failed. Mend the cause and restart it, or cancel it: {}", backfill.id(),
				backfill.qualifiedName(), reason);
	}

	/** The bounds of rows, and whether they are wanted. */
	record Rest(@Nullable List<String> lower, @Nullable List<String> upper, boolean goesOn) {

	}

}
