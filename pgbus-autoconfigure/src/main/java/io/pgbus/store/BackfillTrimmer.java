package io.pgbus.store;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * Forgets of backfills that have ended which rows were read when, once no change that
 * they may have seen can come to their group any more.
 * <p>
 * <b>Invariant.</b> These are the changes of transactions below the highest xmax of the
 * backfill's snapshots. When all of them have ended, their commits are in the write-ahead
 * log; when the capture is past its end of that moment, these changes are in the stream;
 * and when the group's cursors are past the last id of that moment, all of them were
 * either delivered or passed over. In this order it is looked, each by a later snapshot.
 * Who moves a group back gets them again.
 *
 * @since 0.1.0
 */
public final class BackfillTrimmer {

	private static final String HAS_ENDED = """
			b.state in ('done', 'cancelled') and not exists (
				select from {bus}.backfill_chunk k where k.backfill_id = b.id and k.state = 'open'
			)""";

	private static final String ENDED = """
			select b.id, b.joins_live, b.max_xmax::text as max_xmax
			from {bus}.backfill b
			where %s and (
				b.max_xmax is not null
				or exists (select from {bus}.backfill_key r where r.backfill_id = b.id)
				or exists (select from {bus}.backfill_chunk k where k.backfill_id = b.id)
			)
			order by b.id
			""".formatted(HAS_ENDED);

	private static final String LOG_END = """
			select pg_current_wal_insert_lsn()::text where pg_snapshot_xmin(pg_current_snapshot()) >= :maxXmax::xid8
			""";

	private static final String LAST_EVENT = """
			select %s from (select * from {bus}.capture_state order by version desc limit 1) s
			where greatest(s.commit_lsn, s.confirmed_lsn) > :lsn::pg_lsn
			""".formatted(Horizon.LAST_ID);

	/** What is not passed is rather at the end. */
	private static final String HAS_PASSED = """
			select not exists (
				select from {bus}.backfill b
				join {bus}.cursor c on c.group_id = b.group_id and c.stream_id = b.stream_id
				%s
				cross join lateral (select c.stream_id, c.partition, s.*) k
				cross join lateral (
					select from {bus}.event e
					where e.stream_id = k.stream_id and e.partition = k.partition and e.id <= :event and %s is not true
					order by e.id desc limit 1
				) e
				where b.id = :id
			)""".formatted(CursorStore.STATE, ChangeStreamTrimmer.IS_PASSED);

	/** From now on nobody asks for its keys. */
	private static final String CLOSE = """
			update {bus}.backfill b set max_xmax = null
			where b.id = :id and b.max_xmax = :maxXmax::xid8 and %s
			""".formatted(HAS_ENDED);

	private static final String LOCK = """
			select b.id from {bus}.backfill b where b.id = :id and b.max_xmax is null and %s for no key update of b
			""".formatted(HAS_ENDED);

	private static final String FORGET_KEYS = """
			delete from {bus}.backfill_key r
			where r.ctid = any(array(
				select s.ctid from {bus}.backfill_key s where s.backfill_id = :id limit :limit
			))""";

	private static final String FORGET_CHUNKS = "delete from {bus}.backfill_chunk k where k.backfill_id = :id";

	private static final int KEYS_PER_STATEMENT = 10_000;

	private final BusDatabase database;

	private final RoundTrip hasPassed;

	/** How far the look is, by backfill. */
	private final Map<Integer, Mark> marks = new HashMap<>();

	/**
	 * Creates the trimmer.
	 * @param database the database
	 */
	public BackfillTrimmer(BusDatabase database) {
		this.database = database;
		this.hasPassed = database.ownRoundTrip(Horizon.PLANNER, HAS_PASSED);
	}

	/**
	 * Forgets what can be forgotten now, in small transactions of its own. Not for
	 * several threads.
	 * @return how many backfills were done with
	 */
	public int trim() {
		List<Ended> all = this.database.own(ENDED)
			.query((row, index) -> new Ended(row.getInt("id"), row.getBoolean("joins_live"), row.getString("max_xmax")))
			.list();
		this.marks.keySet().retainAll(all.stream().map(Ended::id).toList());
		int trimmed = 0;
		for (Ended ended : all) {
			if (canGo(ended) && forget(ended)) {
				trimmed++;
			}
		}
		return trimmed;
	}

	private boolean canGo(Ended ended) {
		String maxXmax = ended.maxXmax();
		if (maxXmax == null || !ended.joinsLive()) {
			return true;
		}
		Mark before = this.marks.get(ended.id());
		Mark mark = look((before != null && before.maxXmax().equals(maxXmax)) ? before : new Mark(maxXmax, null, null));
		this.marks.put(ended.id(), mark);
		Long event = mark.event();
		return event != null && hasPassed(ended.id(), event);
	}

	private Mark look(Mark mark) {
		String lsn = (mark.lsn() != null) ? mark.lsn()
				: this.database.own(LOG_END)
					.param("maxXmax", mark.maxXmax())
					.query(String.class)
					.optional()
					.orElse(null);
		Long event = (mark.event() != null || lsn == null) ? mark.event()
				: this.database.own(LAST_EVENT).param("lsn", lsn).query(Long.class).optional().orElse(null);
		return new Mark(mark.maxXmax(), lsn, event);
	}

	private boolean hasPassed(int id, long event) {
		return this.hasPassed.run(Map.of("id", id, "event", event), (row) -> {
			row.next();
			return row.getBoolean(1);
		});
	}

	/** Returns {@code false} if it has been started again. */
	private boolean forget(Ended ended) {
		if (ended.maxXmax() != null) {
			this.database.own(CLOSE).param("id", ended.id()).param("maxXmax", ended.maxXmax()).update();
		}
		int keys;
		do {
			keys = forgetKeys(ended.id());
		}
		while (keys == KEYS_PER_STATEMENT && !Thread.currentThread().isInterrupted());
		return keys >= 0 && keys < KEYS_PER_STATEMENT;
	}

	/** Returns -1 if it has been started again. */
	private int forgetKeys(int id) {
		return Objects.requireNonNull(this.database.ownTransaction().execute((status) -> {
			if (this.database.own(LOCK).param("id", id).query(Integer.class).optional().isEmpty()) {
				return -1;
			}
			int keys = this.database.own(FORGET_KEYS).param("id", id).param("limit", KEYS_PER_STATEMENT).update();
			if (keys < KEYS_PER_STATEMENT) {
				this.database.own(FORGET_CHUNKS).param("id", id).update();
			}
			return keys;
		}));
	}

	private record Ended(int id, boolean joinsLive, @Nullable String maxXmax) {

	}

	/**
	 * How far the look is.
	 *
	 * @param maxXmax the transactions below are meant
	 * @param lsn an end of the write-ahead log behind their commits, or {@code null} if
	 * they have not ended
	 * @param event the last id when the capture was past it, or {@code null} if it is not
	 */
	private record Mark(String maxXmax, @Nullable String lsn, @Nullable Long event) {

	}

}
