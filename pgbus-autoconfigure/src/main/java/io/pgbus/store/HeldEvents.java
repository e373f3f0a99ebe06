package io.pgbus.store;

/**
 * The SQL of what a pull consumer holds. It is a consumer of one group, known by its
 * name, and its reads live in the database alone: any process may use the name.
 * <p>
 * It holds a cursor from a read until all events of that read are done. An event is done
 * when it has a ledger row; it is pending until then.
 */
final class HeldEvents {

	/** The listener by which a pull consumer is a member of its group. */
	static final String LISTENER = "(pull)";

	/** The pull consumer of the group g. */
	static final String CONSUMER = """
			(
				select m.consumer_id from {bus}.member m
				join {bus}.consumer k on k.id = m.consumer_id
				where m.group_id = g.id and m.listener = '%s' and k.name = :consumer
			)""".formatted(LISTENER);

	/**
	 * Says that the pull consumer lives, but not more often than it needs to, and without
	 * waiting for another transaction that is saying so.
	 */
	static final String BEAT = """
			update {bus}.consumer set heartbeat_at = clock_timestamp()
			where id = (
				select k.id from {bus}.consumer_group g
				join {bus}.consumer k on k.id = %s
				where g.name = :group and k.heartbeat_at < clock_timestamp() - k.timeout / 6
				for no key update of k skip locked
			)
			""".formatted(CONSUMER);

	/** The cursors that the pull consumer holds: the head of a statement. */
	static final String HELD = """
			with held as (
				select c.id, c.stream_id, c.partition, c.starts_at, s.version, s.position, s.reading_to, s.owner, %s
				from {bus}.consumer_group g
				join {bus}.cursor c on c.group_id = g.id
				%s
				where g.name = :group and s.owner = %s
			)
			""".formatted(CursorStore.HORIZONS, CursorStore.STATE, CONSUMER);

	/** The event e of a held cursor h is not passed over and not done. */
	private static final String IS_PENDING = """
			(h.starts_at is null or e.published_at >= h.starts_at)
			and not exists (select from {bus}.ledger l where l.cursor_id = h.id and l.event_id = e.id)
			and not exists (select from {bus}.failed_event f where f.cursor_id = h.id and f.event_id = e.id)
			""";

	/** The pending events of a held cursor h: a table expression with the column id. */
	static final String PENDING = """
			(
				select e.id
				from (
					select e.id, e.published_at
					from %s
					cross join lateral (
						select e.id, e.published_at from {bus}.event e
						where e.tx = late.tx and e.stream_id = h.stream_id and e.partition = h.partition
						and e.id > h.position and e.id <= least(h.low_floor, h.reading_to)
					) e
					where pg_visible_in_snapshot(late.tx, h.high_snapshot)
					union all
					select e.id, e.published_at from {bus}.event e
					where e.stream_id = h.stream_id and e.partition = h.partition
					and e.id > greatest(h.position, h.low_floor) and e.id <= h.reading_to
					and pg_visible_in_snapshot(e.tx, h.high_snapshot)
					and not pg_visible_in_snapshot(e.tx, h.low_snapshot)
				) e
				where %s
			)""".formatted(Horizon.late("h.low_snapshot", "h.low_bound"), IS_PENDING);

	/** Which of some ids i are pending in a held cursor h: the same for single events. */
	static final String PENDING_OF = """
			cross join lateral (
				select from {bus}.event e
				where e.stream_id = h.stream_id and e.partition = h.partition and e.id = i.id
				and i.id > h.position and i.id <= h.reading_to
				and pg_visible_in_snapshot(e.tx, h.high_snapshot)
				and not pg_visible_in_snapshot(e.tx, h.low_snapshot)
				and (e.id > h.low_floor or e.tx < h.low_bound)
				and %s
				limit 1
			) e
			""".formatted(IS_PENDING);

	/**
	 * Frees the cursors of which nothing is pending any more: the end of a statement that
	 * begins with {@link #HELD}.
	 */
	static final String SETTLE = """
			, over as (
				select h.id, h.version from held h where not exists (select from %2$s e)
			),
			taken as (
				delete from {bus}.cursor_state s using over o
				where s.cursor_id = o.id and s.version = o.version
				returning s.*
			),
			forgotten as (
				delete from {bus}.ledger l using taken t
				where l.cursor_id = t.cursor_id and l.event_id > t.position and l.event_id <= t.reading_to
			),
			freed as (
				insert into {bus}.cursor_state (cursor_id, version, ceiling, position, %1$s)
				select cursor_id, version + 1, ceiling, reading_to, %1$s from taken
			)
			""".formatted(CursorStore.HORIZONS, PENDING);

	private HeldEvents() {
	}

}
