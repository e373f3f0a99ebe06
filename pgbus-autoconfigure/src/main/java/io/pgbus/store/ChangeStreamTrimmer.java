package io.pgbus.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Removes what all groups have passed from the streams of tables, or of an outbox, at
 * once and not only when its segment goes.
 * <p>
 * <b>Invariant.</b> An event goes only if no cursor that reads its partition can still
 * read it, and no failed event refers to it. A cursor is past what its low horizon sees;
 * in an open window also past what its high horizon sees up to its position, and at the
 * end of the window past all that its high horizon sees. What a horizon takes for done
 * without seeing it, because it starts at an id, counts as seen. A failure is recorded
 * before the position is saved, so one look at both misses none.
 *
 * @since 0.1.0
 */
public final class ChangeStreamTrimmer {

	private static final String TABLE_STREAMS = """
			select t.stream_id, s.partitions
			from {bus}.table_stream t join {bus}.stream s on s.id = t.stream_id
			order by t.stream_id
			""";

	/** In an outbox a stream is to be consumed once there is a group that does so. */
	private static final String CONSUMED_STREAMS = """
			select id as stream_id, partitions from {bus}.stream where retention = interval '0' order by id
			""";

	/**
	 * A group that listens to tables, but to this one no more, does not keep its changes.
	 * One that listens to none reads the stream as any other stream.
	 */
	private static final String COUNTS = """
			(
				exists (
					select from {bus}.table_listener l where l.group_id = c.group_id and l.stream_id = c.stream_id
				)
				or not exists (select from {bus}.table_listener l where l.group_id = c.group_id)
			)""";

	/** A cursor c keeps what it has not passed of its stream. */
	static final String HOLDS = """
			(
				not exists (select from {bus}.table_stream t where t.stream_id = c.stream_id)
				or %s
			)""".formatted(COUNTS);

	/** The horizon of a cursor k takes event e for done. */
	private static final String IS_DONE = """
			(
				pg_visible_in_snapshot(e.tx, k.%1$s_snapshot)
				or e.id <= k.%1$s_floor and e.tx >= k.%1$s_bound
				and not exists (select from pg_snapshot_xip(k.%1$s_snapshot) x(tx) where x.tx = e.tx)
			)""";

	/** A cursor k is past event e. */
	static final String IS_PASSED = """
			(
				%1$s
				or k.position < k.ceiling and pg_visible_in_snapshot(e.tx, k.high_snapshot) and e.id <= k.position
				or k.position >= k.ceiling and %2$s
			)""".formatted(IS_DONE.formatted("low"), IS_DONE.formatted("high"));

	/**
	 * Looks at the lowest ids of each partition behind those that were looked at before.
	 */
	private static final String TRIM = """
			with reader as materialized (
				select c.id, c.partition, s.*
				from {bus}.cursor c
				left join lateral (
					select %1$s, s.position, s.ceiling from {bus}.cursor_state s
					where s.cursor_id = c.id order by s.version desc limit 1
				) s on true
				where c.stream_id = :streamId and %2$s
			),
			scanned as materialized (
				select e.*, not exists (
					select from reader k
					where k.partition = e.partition and %3$s is not true
				) as is_passed
				from unnest(:behind::bigint[]) with ordinality as p(behind, number)
				cross join lateral (
					select e.tx, e.partition, e.id from {bus}.event e
					where e.stream_id = :streamId and e.partition = p.number - 1 and e.id > p.behind
					order by e.id limit :limit
				) e
			),
			removed as (
				delete from {bus}.event e using scanned s
				where s.is_passed
				and e.stream_id = :streamId and e.partition = s.partition and e.id = s.id
				and not exists (
					select from {bus}.cursor c join {bus}.failed_event f on f.cursor_id = c.id
					where c.stream_id = e.stream_id and c.partition = e.partition and f.event_id = e.id
				)
				returning e.partition, e.id
			)
			select s.partition, count(*) as looked_at, bool_and(s.is_passed) as all_passed,
				coalesce(min(s.id) filter (where not s.is_passed) - 1, max(s.id)) as behind,
				(select count(*) from removed r where r.partition = s.partition) as removed
			from scanned s
			group by s.partition
			""".formatted(CursorStore.HORIZONS, COUNTS, IS_PASSED);

	/** Events of a partition that a statement looks at. */
	private static final int ROWS_PER_STATEMENT = 500;

	/** How often everything is looked at again, for what only failures have kept. */
	private static final int RUNS_PER_ROUND = 100;

	private final BusDatabase database;

	private final String streams;

	private final RoundTrip trim;

	/**
	 * Up to which ids the partitions of a stream were looked at, so that what was removed
	 * there, and may be in the index still, is not met again.
	 */
	private final Map<Integer, Long[]> behind = new HashMap<>();

	private int runs;

	/**
	 * Creates a trimmer of the streams of tables.
	 * @param database the database
	 */
	public ChangeStreamTrimmer(BusDatabase database) {
		this(database, TABLE_STREAMS);
	}

	private ChangeStreamTrimmer(BusDatabase database, String streams) {
		this.database = database;
		this.streams = streams;
		this.trim = database.ownRoundTrip(Horizon.PLANNER, TRIM);
	}

	/**
	 * Creates a trimmer of the streams whose events are kept until all groups have passed
	 * them.
	 * @param outbox the database of an outbox
	 * @return the trimmer
	 */
	public static ChangeStreamTrimmer ofOutbox(BusDatabase outbox) {
		return new ChangeStreamTrimmer(outbox, CONSUMED_STREAMS);
	}

	/**
	 * Removes what can be removed now, in many small transactions of its own. Several
	 * instances may do so at once. Not for several threads.
	 * @return how many events were removed
	 */
	public long trim() {
		if (this.runs++ % RUNS_PER_ROUND == 0) {
			this.behind.clear();
		}
		List<TableStream> streams = this.database.own(this.streams)
			.query((row, index) -> new TableStream(row.getInt("stream_id"), row.getInt("partitions")))
			.list();
		long removed = 0;
		for (TableStream stream : streams) {
			if (Thread.currentThread().isInterrupted()) {
				break;
			}
			removed += trim(stream);
		}
		return removed;
	}

	private long trim(TableStream stream) {
		Long[] marks = this.behind.computeIfAbsent(stream.id(), (id) -> {
			Long[] first = new Long[stream.partitions()];
			Arrays.fill(first, -1L);
			return first;
		});
		long removed = 0;
		boolean goesOn = true;
		while (goesOn && !Thread.currentThread().isInterrupted()) {
			goesOn = false;
			for (Looked looked : look(stream, marks)) {
				marks[looked.partition()] = looked.behind();
				removed += looked.removed();
				goesOn |= looked.allPassed() && looked.lookedAt() == ROWS_PER_STATEMENT;
			}
		}
		return removed;
	}

	private List<Looked> look(TableStream stream, Long[] marks) {
		Map<String, Object> parameters = Map.of("streamId", stream.id(), "behind", marks, "limit", ROWS_PER_STATEMENT);
		return this.trim.run(parameters, (row) -> {
			List<Looked> looked = new ArrayList<>();
			while (row.next()) {
				looked.add(new Looked(row.getInt("partition"), row.getInt("looked_at"), row.getBoolean("all_passed"),
						row.getLong("behind"), row.getLong("removed")));
			}
			return looked;
		});
	}

	private record TableStream(int id, int partitions) {

	}

	private record Looked(int partition, int lookedAt, boolean allPassed, long behind, long removed) {

	}

}
