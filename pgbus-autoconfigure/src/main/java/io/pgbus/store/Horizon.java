package io.pgbus.store;

/**
 * The SQL of horizons: what a cursor remembers instead of "the last id".
 * <p>
 * Ids come from a sequence but transactions commit in another order, so whoever reads
 * "above my last id" loses every event whose transaction commits late. A horizon is a
 * snapshot, a floor and a bound, taken in this order by one transaction:
 * <ol>
 * <li>the floor: the sequence's last value, before the transaction owns an xid;</li>
 * <li>the bound: the transaction's own xid;</li>
 * <li>the snapshot, by a later statement.</li>
 * </ol>
 * <b>Invariant.</b> An event that the snapshot does not see, and that is committed later,
 * either has an id above the floor, or its transaction was running when the snapshot was
 * taken; and of the running ones some are listed in the snapshot, while those that began
 * after the last completed one are not: their xids lie from the snapshot's xmax up to the
 * bound. (Who begins after the bound draws its ids after the floor was read, because a
 * publisher owns its xid before it draws an id.)
 * <p>
 * So the events between two horizons are found by two index scans: those of late
 * transactions, below the low floor, and the range above it.
 */
final class Horizon {

	private static final String SETTINGS = """
			set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
			set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)
			""";

	/**
	 * The planner settings under which statements on the log are planned, for the
	 * transaction. Each statement knows its index, and a plan made while a table was
	 * empty must not become a scan of the full log.
	 */
	static final String PLANNER = "select " + SETTINGS;

	/**
	 * The same for statements that change some states: joined in another way than row by
	 * row they would read all states that ever were, which are many under an old
	 * snapshot.
	 */
	static final String ROW_BY_ROW = PLANNER
			+ ", set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)";

	/**
	 * The same in a transaction of the caller's, which gets its own settings back by
	 * {@link #RETURNED}.
	 */
	static final String BORROWED = """
			select
				set_config('pgbus.seqscan', current_setting('enable_seqscan'), true),
				set_config('pgbus.bitmapscan', current_setting('enable_bitmapscan'), true),
				set_config('pgbus.jit', current_setting('jit'), true),
				set_config('pgbus.plan_cache_mode', current_setting('plan_cache_mode'), true),
			""" + SETTINGS;

	/** Expressions that end {@link #BORROWED}. */
	static final String RETURNED = """
			set_config('enable_seqscan', current_setting('pgbus.seqscan'), true),
			set_config('enable_bitmapscan', current_setting('pgbus.bitmapscan'), true),
			set_config('jit', current_setting('pgbus.jit'), true),
			set_config('plan_cache_mode', current_setting('pgbus.plan_cache_mode'), true)
			""";

	/**
	 * The last id that was drawn. It is not read from the sequence as from a table: that
	 * takes no lock on the page, and while a nextval writes to the WAL, which it does for
	 * 32 values ahead, the page shows the last of those. A floor that high hides an event
	 * that draws its id from among them later.
	 */
	static final String LAST_ID = "pg_sequence_last_value('{bus}.event_id')";

	/**
	 * Step one, as a statement: keeps the floor for the transaction, and sets the
	 * planner.
	 */
	static final String FLOOR = "select set_config('pgbus.floor', " + LAST_ID + "::text, true), " + SETTINGS;

	/** What step one has kept. */
	static final String KEPT_FLOOR = "current_setting('pgbus.floor')::bigint";

	/**
	 * No segment was begun since step one, so this statement sees all that its snapshot
	 * sees. A statement keeps the segments that its plan was made with, and the plan is
	 * there before the snapshot: events from a segment that is made and begun in between
	 * count as seen, but are not found. They have ids above the floor, and in another
	 * segment.
	 */
	static final String ONE_SEGMENT = "(select %2$s / %1$d = %3$s / %1$d)".formatted(SegmentStore.SIZE, KEPT_FLOOR,
			LAST_ID);

	/** Step two, as a statement. */
	static final String BOUND = "select pg_current_xact_id()";

	/** Step three, as expressions of a later statement: snapshot, floor, bound. */
	static final String TAKEN = "pg_current_snapshot(), " + KEPT_FLOOR + ", pg_current_xact_id()";

	private Horizon() {
	}

	/**
	 * The transactions that a horizon does not see though they may hold ids below its
	 * floor: the ones its snapshot lists, and the publishing ones from xmax up to the
	 * bound. The latter are found by walking the index from one xid to the next, since
	 * one of them may have a million events, and subtransactions may make the span wide.
	 * @param snapshot the column with the snapshot
	 * @param bound the column with the bound
	 * @return a table expression with the column tx
	 */
	static String late(String snapshot, String bound) {
		return """
				(
					select pg_snapshot_xip(%1$s) as tx
					union all
					(
						with recursive late(tx) as (
							(
								select e.tx from {bus}.event e
								where e.tx >= pg_snapshot_xmax(%1$s) and e.tx < %2$s
								order by e.tx limit 1
							)
							union all
							select (
								select e.tx from {bus}.event e
								where e.tx > l.tx and e.tx < %2$s
								order by e.tx limit 1
							)
							from late l where l.tx is not null
						)
						select tx from late where tx is not null
					)
				) late""".formatted(snapshot, bound);
	}

}
