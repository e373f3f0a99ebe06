package io.pgbus.store;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;

import org.springframework.jdbc.core.simple.JdbcClient.StatementSpec;

/**
 * The segments of the log: makes them, begins the next one, drops them.
 * <p>
 * <b>Invariants.</b> Ids only grow: the sequence is moved by one transaction at a time,
 * which holds a lock from before it reads the last id until it has ended, and only from
 * the lower half of a segment, so that what publishers draw meanwhile does not reach the
 * number that it is moved to.
 * <p>
 * Ids are drawn from a segment only when all transactions that publish know of it. A
 * statement keeps the segments that it began with, so those that had locked the log for
 * writing when the segment was attached must have ended.
 * <p>
 * A segment is complete when no event can come into it any more. A transaction locks the
 * log before it draws an id, and until it ends. So those that had locked it when the last
 * id was behind the segment must have ended.
 * <p>
 * Nothing here takes a lock that publishing or reading waits for, nor waits for long.
 */
final class SegmentStore {

	/** How many ids a segment has. */
	static final long SIZE = 1_000_000_000;

	private static final String LAST = "select " + Horizon.LAST_ID;

	/**
	 * Replication brings the row of a segment that is made meanwhile, and not the
	 * segment. It was not used then, and is made when it is needed.
	 */
	private static final String FORGET_MISSING = """
			delete from {bus}.segment s
			where not exists (
				select from pg_class c where c.relname = 'event_' || s.number
				and c.relnamespace = (select relnamespace from pg_class where oid = '{bus}.event'::regclass)
			)
			""";

	/** Also those that were made by hand. */
	private static final String SYNC = """
			insert into {bus}.segment (number)
			select substring(c.relname from 7)::bigint
			from pg_inherits i join pg_class c on c.oid = i.inhrelid
			where i.inhparent = '{bus}.event'::regclass and c.relname ~ '^event_[0-9]{1,10}$'
			on conflict do nothing
			""";

	private static final String SEGMENTS = """
			select s.number, s.known, s.complete_at is not null as complete, s.dropping, i.inhrelid is not null as attached,
				coalesce(i.inhdetachpending, false) as detaching,
				extract(epoch from clock_timestamp() - s.opened_at)::float8 as age_seconds,
				extract(epoch from clock_timestamp() - s.complete_at)::float8 as complete_seconds
			from {bus}.segment s
			left join pg_class c on c.relname = 'event_' || s.number
				and c.relnamespace = (select relnamespace from pg_class where oid = '{bus}.event'::regclass)
			left join pg_inherits i on i.inhrelid = c.oid and i.inhparent = '{bus}.event'::regclass
			order by s.number
			""";

	private static final String WAIT_BRIEFLY = "select set_config('lock_timeout', '2s', true)";

	/** Also waits until who made a segment has told everyone. */
	private static final String LOCK = "select pg_advisory_xact_lock('{bus}.segment'::regclass::oid::integer, 0)";

	private static final String MAKE = "select {bus}.make_segment()";

	/** The transactions that may be writing to the log. */
	private static final String WRITERS = """
			array(
				select distinct l.virtualtransaction from pg_locks l
				where l.locktype = 'relation' and l.relation = '{bus}.event'::regclass and l.granted
				and l.database = (select d.oid from pg_database d where d.datname = current_database())
				and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
			)""";

	private static final String IS_UNSETTLED = """
			(not s.known or s.complete_at is null and s.number < :last / %d)
			""".formatted(SIZE);

	/**
	 * The last id was read before, so that who locks the log after this look draws ids
	 * behind it.
	 */
	private static final String LOOK = """
			update {bus}.segment s set awaits = %s where s.awaits is null and %s
			""".formatted(WRITERS, IS_UNSETTLED);

	/** One step at a time: what is known now is looked at anew before it is complete. */
	private static final String SETTLE = """
			update {bus}.segment s
			set known = true, awaits = null, complete_at = case when s.known then clock_timestamp() end
			where s.awaits is not null and %s and not s.awaits && %s
			""".formatted(IS_UNSETTLED, WRITERS);

	private static final String OPEN = """
			update {bus}.segment set opened_at = clock_timestamp()
			where opened_at is null and number <= :last / %d
			""".formatted(SIZE);

	/** Where the last id is still in the lower half of the segment. */
	private static final String ROLL = """
			with last as materialized (select %s as id)
			select setval('{bus}.event_id', (:number + 1) * %2$d) from last
			where last.id >= :number * %2$d and last.id < :number * %2$d + %3$d
			and exists (
				select from {bus}.segment s where s.number = :number + 1 and s.known and not s.dropping
			)
			""".formatted(Horizon.LAST_ID, SIZE, RetentionSettings.MAX_SEGMENT_EVENTS);

	private static final String KEEPS_FOR_A_TIME = """
			select exists (select from {bus}.stream where retention is not null)
			""";

	private static final String DETACH = "alter table {bus}.event detach partition {bus}.event_%d concurrently";

	private static final String FINISH_DETACH = "alter table {bus}.event detach partition {bus}.event_%d finalize";

	private static final String DROP = "drop table if exists {bus}.event_%d";

	private static final String FORGET = "delete from {bus}.segment where number = :number";

	/**
	 * What waits here is in nobody's way, but it must not keep the round from other work.
	 */
	private static final int DETACH_TIMEOUT_SECONDS = 5;

	private final BusDatabase database;

	SegmentStore(BusDatabase database) {
		this.database = database;
	}

	long lastId() {
		return this.database.own(LAST).query(Long.class).single();
	}

	List<Segment> segments() {
		this.database.own(FORGET_MISSING).update();
		this.database.own(SYNC).update();
		return this.database.own(SEGMENTS)
			.query((row, index) -> new Segment(row.getLong("number"), row.getBoolean("known"),
					row.getBoolean("complete"), row.getBoolean("dropping"), row.getBoolean("attached"),
					row.getBoolean("detaching"), seconds(row.getDouble("age_seconds")),
					seconds(row.getDouble("complete_seconds"))))
			.list();
	}

	private static Duration seconds(double seconds) {
		return Duration.ofMillis(Math.round(seconds * 1000));
	}

	/** Makes the next segment, which nobody uses yet. */
	long make() {
		return inShortTransaction(() -> this.database.own(MAKE).query(Long.class).single());
	}

	/** Sees which segments are known to all by now, opened, and complete. */
	void settle() {
		long last = lastId();
		this.database.own(OPEN).param("last", last).update();
		inShortTransaction(() -> {
			this.database.own(LOCK).query().listOfRows();
			this.database.own(SETTLE).param("last", last).update();
			return this.database.own(LOOK).param("last", last).update();
		});
	}

	boolean keepsForATime() {
		return this.database.own(KEEPS_FOR_A_TIME).query(Boolean.class).single();
	}

	/**
	 * Begins the segment behind a segment, if the last id is still in this one and the
	 * next is known to all.
	 */
	boolean roll(long number) {
		return inShortTransaction(() -> {
			this.database.own(LOCK).query().listOfRows();
			return !this.database.own(ROLL).param("number", number).query().listOfRows().isEmpty();
		});
	}

	/** Detaches a segment. Cannot be done in a transaction, so the driver keeps time. */
	void detach(long number) {
		this.database.runAlone(DETACH.formatted(number), DETACH_TIMEOUT_SECONDS);
	}

	/** Ends what {@link #detach} has begun. */
	void finishDetach(long number) {
		this.database.runAlone(FINISH_DETACH.formatted(number), DETACH_TIMEOUT_SECONDS);
	}

	/** Drops a segment that is detached. */
	void drop(long number) {
		inShortTransaction(() -> {
			this.database.own(DROP.formatted(number)).update();
			return of(FORGET, number).update();
		});
	}

	private StatementSpec of(String sql, long number) {
		return this.database.own(sql).param("number", number);
	}

	private <T> T inShortTransaction(Supplier<T> work) {
		return Objects.requireNonNull(this.database.ownTransaction().execute((status) -> {
			this.database.own(WAIT_BRIEFLY).query().listOfRows();
			return work.get();
		}));
	}

	/**
	 * A segment.
	 *
	 * @param number its number
	 * @param known whether ids may be drawn from it
	 * @param complete whether no event can come into it any more
	 * @param dropping whether it is going
	 * @param attached whether it is a part of the log, or was until it is detached
	 * @param detaching whether it is being detached
	 * @param age since when it is drawn from
	 * @param completeFor since when it is complete
	 */
	record Segment(long number, boolean known, boolean complete, boolean dropping, boolean attached, boolean detaching,
			Duration age, Duration completeFor) {

		long firstId() {
			return this.number * SIZE;
		}

	}

}
