package io.pgbus.store;

import java.util.Map;

/**
 * Moves on the cursors that have had nothing to read for long, so that their horizons are
 * not from before what has been dropped.
 * <p>
 * <b>Invariant.</b> A cursor that is free, has reached the end of its window, and has no
 * news by the snapshot that its new horizon takes, which a statement can tell that knows
 * all segments (see {@link Horizon#ONE_SEGMENT}), is at the end of the empty window below
 * that horizon. What is done with it meanwhile finds the version it names gone, or takes
 * it away from here. When it was last used stays as it was.
 */
final class IdleCursors {

	private static final String IS_IDLE = """
			s.owner is null and s.position >= s.ceiling and s.high_floor < :before and not %s
			""".formatted(CursorStore.HAS_NEWS);

	/** Without taking an xid. */
	private static final String FIND = """
			select exists (
				select from {bus}.cursor c
				%s
				where %s
			)
			""".formatted(CursorStore.STATE, IS_IDLE);

	private static final String MOVE = """
			with chosen as (
				select c.id, s.version
				from {bus}.cursor c
				%s
				where %s and %s
				order by c.id limit 100
				for no key update of c skip locked
			),
			taken as (
				delete from {bus}.cursor_state s using chosen o
				where s.cursor_id = o.id and s.version = o.version
				returning s.cursor_id, s.version, s.changed_at, s.awaits_type
			),
			moved as (
				insert into {bus}.cursor_state (cursor_id, version, changed_at, awaits_type, low_snapshot, low_floor, low_bound,
					high_snapshot, high_floor, high_bound, ceiling, position)
				select t.cursor_id, t.version + 1, t.changed_at, t.awaits_type,
					h.snapshot, h.floor, h.bound, h.snapshot, h.floor, h.bound, 0, 0
				from taken t cross join (select %s) h(snapshot, floor, bound)
				returning 1
			)
			select count(*) from moved
			"""
		.formatted(CursorStore.STATE, Horizon.ONE_SEGMENT, IS_IDLE, Horizon.TAKEN);

	private final RoundTrip find;

	private final RoundTrip move;

	IdleCursors(BusDatabase database) {
		this.find = database.ownRoundTrip(Horizon.PLANNER, FIND);
		this.move = database.ownRoundTrip(Horizon.FLOOR, Horizon.BOUND, MOVE);
	}

	/**
	 * Moves on those whose horizon is below an id, which was drawn.
	 * @return how many were moved
	 */
	long moveOn(long before) {
		long all = 0;
		while (isTrue(before)) {
			long moved = this.move.run(Map.of("before", before), (row) -> {
				row.next();
				return row.getLong(1);
			});
			all += moved;
			if (moved == 0) {
				break;
			}
		}
		return all;
	}

	private boolean isTrue(long before) {
		return this.find.run(Map.of("before", before), (row) -> {
			row.next();
			return row.getBoolean(1);
		});
	}

}
