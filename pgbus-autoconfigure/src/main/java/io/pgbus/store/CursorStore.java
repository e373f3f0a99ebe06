package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

/**
 * Claims cursors of one group and reads what lies before them.
 * <p>
 * A cursor holds two horizons, low and high (see {@link Horizon}), a position and a
 * ceiling. Everything that low sees is done. It is delivering its <em>window</em>: what
 * high sees and low does not, in id order, above the position. At the ceiling the window
 * is done; the next claim then makes high the new low and takes a new high, if there is
 * anything that high does not see.
 * <p>
 * <b>Invariant.</b> Every event is in exactly one window of a cursor: it becomes visible
 * once, and the windows' snapshots follow one another. Within a window the order is id
 * order; two events of a key that are ordered by row locks, or by one's commit before the
 * other's begin, have ids in that order or lie in different windows, in that order.
 *
 * @since 0.1.0
 */
public final class CursorStore {

	/** What reading a window needs to know of it. */
	static final String HORIZONS = "low_snapshot, low_floor, low_bound, high_snapshot, high_floor, high_bound";

	/** There is something this cursor's high horizon does not see. */
	static final String HAS_NEWS = """
			(
				exists (
					select from {bus}.event e
					where e.stream_id = c.stream_id and e.partition = c.partition and e.id > s.high_floor
					and not pg_visible_in_snapshot(e.tx, s.high_snapshot)
				)
				or exists (
					select from %s
					cross join lateral (
						select from {bus}.event e
						where e.tx = late.tx and e.stream_id = c.stream_id and e.partition = c.partition
						and e.id <= s.high_floor
						limit 1
					) e
					where pg_visible_in_snapshot(late.tx, pg_current_snapshot())
				)
			)""".formatted(Horizon.late("s.high_snapshot", "s.high_bound"));

	/**
	 * No member of c's group handles a type, so that any may decide what becomes of it.
	 */
	private static final String NOBODY_HANDLES = """
			not exists (
				select from {bus}.member m where m.group_id = c.group_id and (m.types is null or %s = any(m.types))
			)""";

	/**
	 * A failed event f of cursor c is to be tried again by a listener of these types. One
	 * that nobody handles any more is for everyone, or it would wait for ever.
	 */
	static final String IS_DUE = """
			f.state = 'retrying' and f.next_attempt_at <= clock_timestamp()
			and (:types::text[] is null or f.type = any(:types::text[]) or %s)
			""".formatted(NOBODY_HANDLES.formatted("f.type"));

	/**
	 * The events of cursor c wait for a backfill. Only failed ones are tried again
	 * meanwhile, the backfill's own among them.
	 */
	private static final String WAITS = """
			exists (
				select from {bus}.backfill b where b.group_id = c.group_id and b.stream_id = c.stream_id and %s
			)""".formatted(BackfillStore.HOLDS);

	/** A free cursor c with state s has events to read, or may have. */
	static final String IS_FREE_AND_HAS_EVENTS = """
			s.owner is null and (s.position < s.ceiling or %s)
			""".formatted(HAS_NEWS);

	/** A free cursor c with state s is worth taking. */
	static final String IS_FREE_AND_HAS_WORK = """
			s.owner is null
			and (
				(s.position < s.ceiling or %s) and not %s
				or exists (select from {bus}.failed_event f where f.cursor_id = c.id and %s)
			)
			""".formatted(HAS_NEWS, WAITS, IS_DUE);

	/** The live state of a cursor c. */
	static final String STATE = """
			cross join lateral (
				select * from {bus}.cursor_state s where s.cursor_id = c.id order by s.version desc limit 1
			) s
			""";

	/**
	 * Takes the cursor that has waited longest of those for which something holds. The
	 * lock on the cursor's row only keeps claims out of each other's way. What makes two
	 * owners impossible is that the state is taken by deleting the version that was seen.
	 * Where the next window would be opened, the log must not have moved on meanwhile.
	 */
	static final String TAKE = """
			with chosen as (
				select c.id, s.version
				from {bus}.cursor c
				%s
				where c.group_id = :groupId and c.stream_id = any(:streamIds) and c.id <> all(:avoided)
				and not (select g.paused from {bus}.consumer_group g where g.id = c.group_id)
				and (s.position < s.ceiling or %s)
				and %%s
				order by s.changed_at
				limit 1
				for no key update of c skip locked
			),
			taken as (
				delete from {bus}.cursor_state s using chosen o
				where s.cursor_id = o.id and s.version = o.version
				returning s.cursor_id, s.version, s.position, s.ceiling, clock_timestamp() as claimed_at, %s
			),
			""".formatted(STATE, Horizon.ONE_SEGMENT, HORIZONS);

	/**
	 * Higher than the one before, and from the clock: a crash of the server may take with
	 * it a claim, but not the process that has made it, and a later claim must not look
	 * like that one.
	 */
	private static final String NEXT_VERSION = """
			greatest(t.version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)""";

	/**
	 * A handler does not wait until a claim, or the position before it, is on disk. A
	 * crash that undoes these has ended all sessions, and what a handler commits is on
	 * disk after them. But it does wait if it commits elsewhere: its window must not be
	 * lost when its effects are not (see {@link Inbox}). A cursor is let go for good: its
	 * owner would not know that it still holds it.
	 */
	private static final String NEED_NOT_LAST = "set_config('synchronous_commit', 'off', true)";

	/** The next event is not left for another member. */
	private static final String IS_FOR_THESE_TYPES = """
			(
				s.awaits_type is null or :types::text[] is null or s.awaits_type = any(:types::text[])
				or %s
			)""".formatted(NOBODY_HANDLES.formatted("s.awaits_type"));

	/** Takes the state of a cursor that is already held, at its new position. */
	private static final String TAKE_HELD = """
			with taken as (
				delete from {bus}.cursor_state s
				where s.cursor_id = :cursorId and s.version = :version and :position::bigint < s.ceiling
				returning s.cursor_id, s.version, :position::bigint as position, s.ceiling, s.claimed_at, %s
			),
			forgotten as (
				delete from {bus}.ledger l using taken t
				where l.cursor_id = t.cursor_id and l.event_id = any(:handled)
			),
			""".formatted(HORIZONS);

	/** The window at hand. */
	private static final String SAME_WINDOW = """
			select t.low_snapshot, t.low_floor, t.low_bound, t.high_snapshot, t.high_floor, t.high_bound,
				t.ceiling, t.position
			where t.position < t.ceiling
			""";

	/** The window at hand, or the one after it. */
	private static final String WINDOW = SAME_WINDOW + """
			union all
			select t.high_snapshot, t.high_floor, t.high_bound, %s, %s, 0
			where t.position >= t.ceiling
			""".formatted(Horizon.TAKEN, Horizon.LAST_ID);

	/** Events of the window that lie above its low floor. */
	private static final String ABOVE_FLOOR = """
			(
				select e.* from {bus}.event e
				where e.stream_id = n.stream_id and e.partition = n.partition
				and e.id > greatest(n.position, n.low_floor) and e.id <= n.ceiling
				and pg_visible_in_snapshot(e.tx, n.high_snapshot)
				and not pg_visible_in_snapshot(e.tx, n.low_snapshot) and not n.waits
				order by e.id limit :scan
			)""";

	/** All events of the window: those of late transactions lie below. */
	private static final String WHOLE = """
			select e.*
			from %s
			cross join lateral (
				select e.* from {bus}.event e
				where e.tx = late.tx and e.stream_id = n.stream_id and e.partition = n.partition
				and e.id > n.position and e.id <= n.low_floor
				order by e.id limit :scan
			) e
			where pg_visible_in_snapshot(late.tx, n.high_snapshot) and not n.waits
			union all
			%s
			order by id limit :scan
			""".formatted(Horizon.late("n.low_snapshot", "n.low_bound"), ABOVE_FLOOR);

	/**
	 * Goes on in the window, or opens the next; reads it; puts the new state in place. An
	 * event is passed over if the listener does not want it, or if it is done already:
	 * its ledger row or failure is there, but the position was not saved. Such events may
	 * lie behind others that are not done, as failed ones are tried again wherever the
	 * position is. Whether there are any is looked up once, but for late events: below
	 * the floor may be all the dead versions that an old snapshot keeps. The read ends
	 * before an event that is for another member of the group.
	 * <p>
	 * The first row is the claim, each other an event.
	 */
	private static final String READ = """
			next as (
				select t.cursor_id, %6$s as version, t.claimed_at, w.*,
					c.group_id, c.stream_id, c.partition, c.starts_at, stream.name as stream,
					exists (
						select from {bus}.failed_event f where f.cursor_id = t.cursor_id and f.holds_key
					) as holds_keys,
					exists (select from {bus}.failed_event f where f.cursor_id = c.id and %4$s) as retries_due,
					(
						exists (
							select from {bus}.ledger l
							where l.cursor_id = c.id and l.event_id > greatest(w.position, w.low_floor)
						)
						or exists (
							select from {bus}.failed_event f
							where f.cursor_id = c.id and f.event_id > greatest(w.position, w.low_floor)
						)
					) as has_done,
					%5$s as waits
				from taken t
				join {bus}.cursor c on c.id = t.cursor_id
				join {bus}.stream on stream.id = c.stream_id
				cross join lateral (
					%1$s
				) w(low_snapshot, low_floor, low_bound, high_snapshot, high_floor, high_bound, ceiling, position)
			),
			scan as (
				select e.*,
					(n.has_done or e.id <= n.low_floor) and (
						(select true from {bus}.ledger l where l.cursor_id = n.cursor_id and l.event_id = e.id limit 1)
						is not null
						or
						(select true from {bus}.failed_event f where f.cursor_id = n.cursor_id and f.event_id = e.id limit 1)
						is not null
					) as done,
					case
						when :types::text[] is not null and e.type <> all(:types::text[]) then false
						when e.published_at < n.starts_at then false
						else %3$s
					end as wanted,
					:types::text[] is not null and e.type <> all(:types::text[]) and (
						select true from {bus}.member m
						where m.group_id = n.group_id and (m.types is null or e.type = any(m.types)) limit 1
					) is not null as for_another,
					n.holds_keys and (
						select true from {bus}.failed_event f
						where f.cursor_id = n.cursor_id and f.key = e.key and f.holds_key limit 1
					) is not null as held
				from next n
				cross join lateral (
					%2$s
				) e
			),
			counted as (
				select s.id, s.type, s.done, s.for_another, s.wanted and not s.done as to_handle,
					bool_or(s.for_another and not s.done) over up_to_here as is_beyond,
					count(*) filter (where s.wanted and not s.done) over up_to_here as events,
					sum(s.size) filter (where s.wanted and not s.done) over up_to_here as bytes
				from scan s
				window up_to_here as (order by s.id)
			),
			batch as (
				select id, to_handle, done from counted
				where not is_beyond and events <= :batchSize
				and (not to_handle or events = 1 or bytes <= :batchBytes)
			),
			reached as (
				select case
					when n.waits then n.position
					when (select count(*) from scan) < :scan and (select count(*) from batch) = (select count(*) from scan)
					then n.ceiling
					else coalesce((select max(id) from batch), n.position)
				end as reading_to,
				(select type from counted where is_beyond and for_another order by id limit 1) as next_type
				from next n
			),
			saved as (
				insert into {bus}.cursor_state (cursor_id, version, owner, worker, claimed_at, reading_to,
					low_snapshot, low_floor, low_bound, high_snapshot, high_floor, high_bound, ceiling, position)
				select n.cursor_id, n.version, :consumerId, :worker, n.claimed_at, r.reading_to,
					n.low_snapshot, n.low_floor, n.low_bound, n.high_snapshot, n.high_floor, n.high_bound,
					n.ceiling, n.position
				from next n cross join reached r
			)
			select n.cursor_id, n.version, n.stream, n.stream_id, n.partition, n.position, n.low_floor,
				case when n.waits then n.position else n.ceiling end as ceiling, n.retries_due,
				r.reading_to, n.high_snapshot::text as high_snapshot,
				case when (select count(*) from batch) = (select count(*) from counted where not is_beyond)
					then r.next_type end as awaits_type,
				null::bigint as id, null as type, null as key, null::jsonb as payload, null::jsonb as headers,
				null::timestamptz as published_at, null::boolean as held, null::boolean as done
			from next n cross join reached r
			union all
			select null, null, null, null, null, null, null, null, null, null, null, null,
				s.id, s.type, s.key, s.payload, s.headers, s.published_at, s.held, s.done
			from batch join scan s on s.id = batch.id
			where batch.to_handle or batch.done
			order by id nulls first
			""";

	private static final String RELEASE = """
			with taken as (
				delete from {bus}.cursor_state s
				where s.cursor_id = :cursorId and s.version = :version
				returning *
			),
			forgotten as (
				delete from {bus}.ledger l using taken t
				where l.cursor_id = t.cursor_id and l.event_id = any(:handled)
			),
			saved as (
				insert into {bus}.cursor_state (cursor_id, version, awaits_type, ceiling, position, %1$s)
				select cursor_id, version + 1, :awaitsType::text, ceiling, :position, %1$s from taken
				returning 1
			)
			select 1 from saved
			""".formatted(HORIZONS);

	/** Frees cursors c, whose state s is theirs to change. */
	static final String FREE = """
			with chosen as materialized (
				select c.id, s.version
				from {bus}.cursor c
				%s
				where %%s
			),
			taken as (
				delete from {bus}.cursor_state s using chosen o
				where s.cursor_id = o.id and s.version = o.version
				returning s.*
			),
			freed as (
				insert into {bus}.cursor_state (cursor_id, version, ceiling, position, %s)
				select cursor_id, version + 1, ceiling, position, %s from taken
				returning 1
			)
			select count(*) from freed
			""".formatted(STATE, HORIZONS, HORIZONS);

	private final Map<String, Object> subscription = new HashMap<>();

	private final boolean isFiltered;

	private final ScanSize scan;

	private final RoundTrip claim;

	private final RoundTrip advance;

	private final RoundTrip advanceAboveFloor;

	private final RoundTrip release;

	private final RoundTrip releaseStrays;

	/**
	 * Creates the store for one listener.
	 * @param database the database
	 * @param subscription what the listener takes
	 * @throws IllegalArgumentException if the filter is no expression by itself
	 */
	public CursorStore(BusDatabase database, Subscription subscription) {
		this(database, subscription, true);
	}

	private CursorStore(BusDatabase database, Subscription subscription, boolean isFiltered) {
		this.isFiltered = isFiltered;
		this.subscription.put("groupId", subscription.groupId());
		this.subscription.put("streamIds", subscription.streamIds().toArray(new Integer[0]));
		this.subscription.put("types",
				(subscription.types() != null) ? subscription.types().toArray(new String[0]) : RoundTrip.NULL);
		this.subscription.put("batchSize", subscription.batchSize());
		this.subscription.put("batchBytes", subscription.batchBytes());
		this.scan = new ScanSize(subscription);
		String filter = subscription.filter();
		String needNotLast = subscription.effectsAreElsewhere() ? "" : ", " + NEED_NOT_LAST;
		this.claim = database.ownRoundTrip(Horizon.FLOOR + needNotLast, Horizon.BOUND,
				TAKE.formatted(IS_FOR_THESE_TYPES + " and " + IS_FREE_AND_HAS_WORK) + read(filter));
		this.advance = database.ownRoundTrip(Horizon.PLANNER + needNotLast,
				TAKE_HELD + read(SAME_WINDOW, WHOLE, filter));
		this.advanceAboveFloor = database.ownRoundTrip(Horizon.PLANNER + needNotLast,
				TAKE_HELD + read(SAME_WINDOW, ABOVE_FLOOR, filter));
		this.release = database.ownRoundTrip(RELEASE);
		this.releaseStrays = database.ownRoundTrip(Horizon.ROW_BY_ROW,
				FREE.formatted("s.owner = :consumerId and s.worker = :worker"));
	}

	/**
	 * Returns a store that reads events without asking the filter, for when the filter
	 * fails.
	 * @param database the database
	 * @param subscription what the listener takes
	 * @return the store
	 */
	public static CursorStore unfiltered(BusDatabase database, Subscription subscription) {
		return new CursorStore(database, subscription.withoutFilter(), false);
	}

	/** Reads on in the cursor that the preceding part of the statement took. */
	static String read(@Nullable String filter) {
		return read(WINDOW, WHOLE, filter);
	}

	private static String read(String window, String events, @Nullable String filter) {
		return READ.formatted(window, events, EventFilter.condition(filter), IS_DUE, WAITS, NEXT_VERSION);
	}

	/**
	 * Takes the free cursor that has waited longest with work, and reads, in one round
	 * trip and a transaction of its own.
	 * @param holder who will hold it
	 * @param avoided cursors not to take
	 * @return the claim, or {@code null} if no free cursor has work
	 */
	public @Nullable Claim claim(Holder holder, Collection<Integer> avoided) {
		Map<String, Object> parameters = new HashMap<>(this.subscription);
		parameters.put("consumerId", holder.consumerId());
		parameters.put("worker", holder.worker());
		parameters.put("scan", this.scan.events());
		parameters.put("avoided", avoided.toArray(new Integer[0]));
		return this.claim.run(parameters, this::readClaim).orElse(null);
	}

	/**
	 * Saves a position and reads on in the same window, in one round trip and a
	 * transaction of its own.
	 * @param claim the claim as it is
	 * @param holder who holds it
	 * @param position the position to save, below the ceiling
	 * @param handled the events up to the position whose ledger rows can go
	 * @return the claim with the next events, or {@code null} if the cursor is another's
	 * by now and nothing was saved
	 */
	public @Nullable Claim advance(Claim claim, Holder holder, long position, Collection<Long> handled) {
		Map<String, Object> parameters = new HashMap<>(this.subscription);
		parameters.put("consumerId", holder.consumerId());
		parameters.put("worker", holder.worker());
		parameters.put("scan", this.scan.events());
		parameters.put("cursorId", claim.cursorId());
		parameters.put("version", claim.version());
		parameters.put("position", position);
		parameters.put("handled", handled.toArray(new Long[0]));
		RoundTrip next = (position < claim.lowFloor()) ? this.advance : this.advanceAboveFloor;
		return next.run(parameters, this::readClaim).orElse(null);
	}

	/**
	 * Saves a position and frees the cursor, in a transaction of its own.
	 * @param claim the claim as it is
	 * @param position the position to save
	 * @param handled the events up to the position whose ledger rows can go
	 * @param awaitsType the type of the next event if it is for another member, or
	 * {@code null}
	 * @return whether it was saved; {@code false} if the cursor is another's by now
	 */
	public boolean release(Claim claim, long position, Collection<Long> handled, @Nullable String awaitsType) {
		Map<String, Object> parameters = new HashMap<>();
		parameters.put("cursorId", claim.cursorId());
		parameters.put("version", claim.version());
		parameters.put("position", position);
		parameters.put("handled", handled.toArray(new Long[0]));
		parameters.put("awaitsType", (awaitsType != null) ? awaitsType : RoundTrip.NULL);
		return this.release.run(parameters, ResultSet::next);
	}

	/**
	 * Frees what the database says a worker holds, after an answer was lost: the worker
	 * may hold a cursor that it does not know of.
	 * @param holder the worker, which works on nothing
	 */
	public void releaseStrays(Holder holder) {
		this.releaseStrays.run(Map.of("consumerId", holder.consumerId(), "worker", holder.worker()), ResultSet::next);
	}

	private Optional<Claim> readClaim(ResultSet row) throws SQLException {
		Optional<Claim> claim = Claim.read(row, this.isFiltered);
		claim.ifPresent(this.scan::learnFrom);
		return claim;
	}

}
