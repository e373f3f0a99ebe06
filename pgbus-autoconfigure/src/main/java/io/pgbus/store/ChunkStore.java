package io.pgbus.store;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;

import io.pgbus.PgBusException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;

/**
 * Claims chunks of the backfills of one group, and reads their rows. A chunk is the rows
 * of one read, in the order of the primary key; they are numbered from 1 and handled in
 * this order. It has a state as a cursor has one (its id is the chunk's with a minus), so
 * owner, version, position and ledger mean what they mean there.
 * <p>
 * <b>Invariants.</b>
 * <ol>
 * <li>A row is delivered from one chunk, in the version that the chunk's snapshot sees. A
 * change is passed over for a group iff the row with its key was delivered from a chunk
 * whose snapshot sees the change (see {@link TableListenerStore#eventFilter}). Which rows
 * were read is kept by key, not by range: a row that the query does not yield, or that
 * was gone when it was read, keeps its changes.</li>
 * <li>The snapshot is saved before a row is handled. Whoever takes a chunk over cannot
 * read its rows as of that snapshot any more. So the chunk ends at the row that was done
 * last, and the rows behind it become another chunk, with a later snapshot. With one
 * snapshot for both, a change between the two reads would be taken for read with a row
 * that was done before it, and be lost.</li>
 * <li>Which row was done last is looked at when no transaction of the chunk's former
 * owner can be committed any more: each shares a lock that this takes for itself alone,
 * after the version that they look for is gone (see {@link Ledger}).</li>
 * <li>The first row is read when all that is not in the stream of changes can be seen:
 * see {@link BackfillAdmission}.</li>
 * </ol>
 *
 * @since 0.1.0
 */
public final class ChunkStore {

	private static final Logger logger = LoggerFactory.getLogger(ChunkStore.class);

	/** The live state of a chunk k. */
	static final String STATE = """
			cross join lateral (
				select * from {bus}.cursor_state s where s.cursor_id = -k.id order by s.version desc limit 1
			) s
			""";

	/**
	 * An open chunk k of a backfill b is to be worked on: also one of which no more rows
	 * are wanted, for it to be closed.
	 */
	private static final String IS_WANTED = "k.state = 'open' and (b.state = 'running' or k.abandoned)";

	/** A backfill b has work that nobody holds. */
	static final String HAS_WORK = """
			(
				b.state = 'waiting'
				or b.state = 'running' and not b.planned and b.next_chunk_at <= clock_timestamp()
				or exists (
					select from {bus}.backfill_chunk k %s
					where k.backfill_id = b.id and %s and s.owner is null
				)
			)""".formatted(STATE, IS_WANTED);

	private static final String ANY_WORK = """
			select exists (
				select from {bus}.backfill b
				where b.group_id = :groupId and b.stream_id = any(:streamIds) and %s
				and not (select g.paused from {bus}.consumer_group g where g.id = b.group_id)
			)""".formatted(HAS_WORK);

	private static final String TAKE_OVER = """
			with chosen as (
				select k.id, s.version
				from {bus}.backfill_chunk k
				join {bus}.backfill b on b.id = k.backfill_id
				%s
				where b.group_id = :groupId and b.stream_id = any(:streamIds) and %s and s.owner is null
				and -k.id <> all(:avoided)
				order by s.changed_at
				limit 1
				for no key update of k skip locked
			),
			taken as (
				delete from {bus}.cursor_state s using chosen o
				where s.cursor_id = -o.id and s.version = o.version
				returning s.*
			)
			insert into {bus}.cursor_state (cursor_id, version, owner, worker, claimed_at, reading_to, ceiling, position, %3$s)
			select cursor_id, version + 1, :consumerId, :worker, clock_timestamp(), ceiling, ceiling, position, %3$s
			from taken
			returning -cursor_id as id, version
			"""
		.formatted(STATE, IS_WANTED, CursorStore.HORIZONS);

	private static final String WAIT_ONE_SECOND = "select set_config('lock_timeout', '1s', true)";

	private static final String LOCK_OUT = """
			select pg_advisory_xact_lock('{bus}.cursor'::regclass::oid::integer, :cursorId::integer)
			""";

	private static final String PLAN = """
			select %s from {bus}.backfill b join {bus}.stream on stream.id = b.stream_id
			where b.group_id = :groupId and b.stream_id = any(:streamIds) and b.state = 'running' and not b.planned
			and b.next_chunk_at <= clock_timestamp()
			order by b.id
			limit 1
			for no key update of b skip locked
			""".formatted(BackfillRow.COLUMNS);

	/** Frees the chunk if no more of its rows are wanted now. */
	private static final String ADVANCE = """
			with taken as (
				delete from {bus}.cursor_state s where s.cursor_id = :cursorId and s.version = :version returning s.*
			),
			forgotten as (
				delete from {bus}.ledger l using taken t where l.cursor_id = t.cursor_id and l.event_id <= :position
			),
			wanted as (
				select :goesOn and b.state = 'running' and not k.abandoned as goes_on
				from {bus}.backfill_chunk k join {bus}.backfill b on b.id = k.backfill_id where k.id = -:cursorId::integer
			)
			insert into {bus}.cursor_state (cursor_id, version, owner, worker, claimed_at, reading_to, ceiling, position, %1$s)
			select cursor_id, version + 1, case when w.goes_on then owner end, case when w.goes_on then worker end,
				case when w.goes_on then claimed_at end, case when w.goes_on then reading_to end, ceiling, :position, %1$s
			from taken cross join wanted w
			returning version, owner is not null as goes_on
			"""
		.formatted(CursorStore.HORIZONS);

	/** Frees open chunks k, whose state s is theirs to change. */
	static final String FREE = """
			with chosen as materialized (
				select k.id, s.version from {bus}.backfill_chunk k %s where k.state = 'open' and %%s
			),
			taken as (
				delete from {bus}.cursor_state s using chosen o
				where s.cursor_id = -o.id and s.version = o.version
				returning s.*
			),
			freed as (
				insert into {bus}.cursor_state (cursor_id, version, ceiling, position, %2$s)
				select cursor_id, version + 1, ceiling, position, %2$s from taken
				returning 1
			)
			select count(*) from freed
			""".formatted(STATE, CursorStore.HORIZONS);

	private static final String FREE_STRAYS = FREE.formatted("s.owner = :consumerId and s.worker = :worker");

	private final BusDatabase database;

	private final Map<String, Object> subscription;

	private final ChunkTable chunks;

	private final ChunkReader reader;

	private final BackfillAdmission admission;

	/**
	 * Creates the store for one listener.
	 * @param database the database
	 * @param groupId the group
	 * @param streamIds the streams of the tables that the listener listens to
	 */
	public ChunkStore(BusDatabase database, int groupId, Collection<Integer> streamIds) {
		this.database = database;
		this.chunks = new ChunkTable(database);
		this.subscription = Map.of("groupId", groupId, "streamIds", streamIds.toArray(new Integer[0]));
		this.reader = new ChunkReader(database, groupId);
		this.admission = new BackfillAdmission(database);
	}

	/**
	 * Takes a chunk that nobody holds, or makes the next one, and reads its rows. In
	 * transactions of its own.
	 * @param holder who will hold it
	 * @param avoided the cursors, and among them chunks, not to take
	 * @return the chunk, or {@code null} if there is none now
	 */
	public @Nullable Chunk claim(Holder holder, Collection<Integer> avoided) {
		while (this.database.own(ANY_WORK).params(this.subscription).query(Boolean.class).single()) {
			this.admission.admit(this.subscription);
			Map<String, Object> parameters = new HashMap<>(this.subscription);
			parameters.put("avoided", avoided.toArray(new Integer[0]));
			parameters.put("consumerId", holder.consumerId());
			parameters.put("worker", holder.worker());
			Taken taken = this.database.own(TAKE_OVER)
				.params(parameters)
				.query((row, index) -> new Taken(row.getInt("id"), row.getLong("version")))
				.optional()
				.orElse(null);
			Step step = (taken != null) ? goOn(taken, holder) : plan(holder);
			if (step.chunk() != null || !step.mayBeMore()) {
				return step.chunk();
			}
		}
		return null;
	}

	private Step goOn(Taken taken, Holder holder) {
		try {
			Step step = read((failed) -> split(taken, holder, failed));
			if (step.chunk() == null) {
				releaseStrays(holder);
			}
			return step;
		}
		catch (DataAccessException ex) {
			releaseStrays(holder);
			if (DatabaseTrouble.isLockTimeout(ex)) {
				logger.debug("Chunk {} has a transaction of its former owner still", taken.id(), ex);
				return Step.NOTHING;
			}
			throw ex;
		}
	}

	private @Nullable Read split(Taken taken, Holder holder, Failed failed) {
		this.database.own(WAIT_ONE_SECOND).query().listOfRows();
		this.database.own(LOCK_OUT).param("cursorId", -taken.id()).query().listOfRows();
		BackfillRow backfill = this.chunks.lockBackfillOf(taken.id());
		if (backfill == null) {
			return null;
		}
		failed.backfill = backfill;
		Long done = this.chunks.endState(taken.id(), taken.version());
		if (done == null) {
			return null;
		}
		ChunkTable.Rest rest = this.chunks.close(taken.id(), done);
		this.chunks.count(backfill.id(), done);
		if (!rest.goesOn()) {
			this.chunks.endIfDone(backfill.id());
			return null;
		}
		ChunkRows rows = this.reader.read(backfill, this.reader.query(backfill), rest.lower(), rest.upper());
		if (rows.images().isEmpty()) {
			this.chunks.endIfDone(backfill.id());
			return null;
		}
		// there may be more rows by now: they are a chunk of their own
		int id = this.chunks.add(backfill, rows, rest.lower(), rows.isLast() ? rest.upper() : List.of(rows.lastKey()),
				holder);
		if (!rows.isLast()) {
			this.chunks.addUnread(backfill, rows, rest.upper());
		}
		return new Read(id, backfill, rows);
	}

	private Step plan(Holder holder) {
		return read((failed) -> {
			this.database.own(WAIT_ONE_SECOND).query().listOfRows();
			BackfillRow backfill = this.database.own(PLAN)
				.params(this.subscription)
				.query((row, index) -> BackfillRow.read(row))
				.optional()
				.orElse(null);
			if (backfill == null) {
				failed.isNothing = true;
				return null;
			}
			failed.backfill = backfill;
			ChunkRows rows = this.reader.read(backfill, this.reader.query(backfill), backfill.plannedTo(), null);
			boolean isEmpty = rows.images().isEmpty();
			this.chunks.planned(backfill.id(), isEmpty ? null : rows.lastKey(), rows.isLast(), rows.images().size());
			if (isEmpty) {
				this.chunks.endIfDone(backfill.id());
				return null;
			}
			return new Read(this.chunks.add(backfill, rows, backfill.plannedTo(),
					rows.isLast() ? null : List.of(rows.lastKey()), holder), backfill, rows);
		});
	}

	/**
	 * Reads in a transaction. What PostgreSQL refuses is tried once more, with the table
	 * looked at again, before the backfill fails.
	 */
	private Step read(Reading reading) {
		for (int attempt = 1;; attempt++) {
			Failed failed = new Failed();
			Read read;
			try {
				read = inTransaction(() -> reading.read(failed));
			}
			catch (DataAccessException | PgBusException | IllegalArgumentException ex) {
				BackfillRow backfill = failed.backfill;
				if (backfill == null || DatabaseTrouble.of(ex) != DatabaseTrouble.NONE
						|| (ex instanceof DataAccessException access && DatabaseTrouble.isLockTimeout(access))) {
					throw ex;
				}
				this.reader.forget(backfill);
				if (attempt > 1) {
					this.chunks.fail(backfill, ex);
					return new Step(null, true);
				}
				continue;
			}
			return (read != null) ? new Step(chunk(read), true) : new Step(null, !failed.isNothing);
		}
	}

	private <T> @Nullable T inTransaction(Supplier<@Nullable T> work) {
		Optional<T> result = this.database.ownTransaction().execute((status) -> Optional.ofNullable(work.get()));
		return Objects.requireNonNull(result).orElse(null);
	}

	/** The keys are saved before a row is handled. */
	private Chunk chunk(Read read) {
		BackfillRow backfill = read.backfill();
		List<StoredEvent> events = this.reader.events(backfill, read.rows());
		if (backfill.joinsLive()) {
			this.chunks.addKeys(backfill.id(), read.chunkId(), events);
		}
		return new Chunk(read.chunkId(), backfill.id(), 1, backfill.stream(), backfill.streamId(), 0, events);
	}

	/**
	 * Saves a position, in a transaction of its own, and frees the chunk if no more of
	 * its rows are wanted.
	 * @param chunk the chunk as it is
	 * @param position the number of the row up to which it is done
	 * @param goesOn whether the holder wants to go on
	 * @return the chunk with its new state
	 */
	public Saved save(Chunk chunk, long position, boolean goesOn) {
		return this.database.own(ADVANCE)
			.param("cursorId", -chunk.id())
			.param("version", chunk.version())
			.param("position", position)
			.param("goesOn", goesOn)
			.query((row, index) -> new Saved(
					row.getBoolean("goes_on") ? chunk.at(row.getLong("version"), position) : null, true))
			.optional()
			.orElse(new Saved(null, false));
	}

	/**
	 * Ends a chunk all of whose rows are done, in a transaction of its own.
	 * @param chunk the chunk as it is
	 * @return whether it was ended, and the backfill with it; {@code null} if it is
	 * another's by now
	 */
	public @Nullable Boolean finish(Chunk chunk) {
		Boolean isDone = inTransaction(() -> {
			if (this.chunks.lockBackfillOf(chunk.id()) == null
					|| this.chunks.endState(chunk.id(), chunk.version()) == null) {
				return null;
			}
			this.chunks.close(chunk.id(), chunk.events().size());
			this.chunks.count(chunk.backfillId(), chunk.events().size());
			return this.chunks.endIfDone(chunk.backfillId());
		});
		if (Boolean.FALSE.equals(isDone)) {
			this.chunks.progressed(chunk.backfillId());
		}
		return isDone;
	}

	/**
	 * Frees what the database says a worker holds, after an answer was lost.
	 * @param holder the worker, which works on nothing
	 */
	public void releaseStrays(Holder holder) {
		this.database.own(FREE_STRAYS)
			.param("consumerId", holder.consumerId())
			.param("worker", holder.worker())
			.query()
			.listOfRows();
	}

	/**
	 * What became of a save.
	 *
	 * @param chunk the chunk, or {@code null} if it is held no more
	 * @param isSaved {@code false} if it was another's
	 */
	public record Saved(@Nullable Chunk chunk, boolean isSaved) {

	}

	private record Taken(int id, long version) {

	}

	private record Read(int chunkId, BackfillRow backfill, ChunkRows rows) {

	}

	private record Step(@Nullable Chunk chunk, boolean mayBeMore) {

		static final Step NOTHING = new Step(null, false);

	}

	/** Whose read it was that failed. */
	private static final class Failed {

		private @Nullable BackfillRow backfill;

		private boolean isNothing;

	}

	private interface Reading {

		@Nullable Read read(Failed failed);

	}

}
