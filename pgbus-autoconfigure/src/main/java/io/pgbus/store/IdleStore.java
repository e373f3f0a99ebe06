package io.pgbus.store;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Tells which groups are not done with what has been committed.
 *
 * @since 0.1.0
 */
public final class IdleStore {

	/**
	 * Groups that are paused, or that no running listener is a member of, are left out.
	 */
	private static final String BUSY = """
			select g.name || ': partition ' || c.partition || ' of ' || stream.name
				|| case
					when s.owner is not null then ' is being handled'
					when %s then ' has events to handle'
					else ' has failed events to retry'
				end as reason
			from {bus}.consumer_group g
			join {bus}.cursor c on c.group_id = g.id
			join {bus}.stream on stream.id = c.stream_id
			%s
			where not g.paused and exists (select from {bus}.member m where m.group_id = g.id)
			and (
				s.owner is not null
				or %s
				or exists (
					select from {bus}.failed_event f where f.cursor_id = c.id and f.state in ('retrying', 'held')
				)
			)
			union all
			select g.name || ': backfill ' || b.id || ' of ' || b.schema_name || '.' || b.table_name || ' is ' || b.state
			from {bus}.backfill b
			join {bus}.consumer_group g on g.id = b.group_id
			where b.state in ('waiting', 'running') and not g.paused
			and exists (select from {bus}.member m where m.group_id = g.id)
			order by reason
			limit 100
			""";

	private static final String HAS_EVENTS = "(s.position < s.ceiling or " + CursorStore.HAS_NEWS + ")";

	private final RoundTrip busy;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public IdleStore(BusDatabase database) {
		this.busy = database.ownRoundTrip(Horizon.PLANNER, BUSY.formatted(HAS_EVENTS, CursorStore.STATE, HAS_EVENTS));
	}

	/**
	 * Returns what groups with running listeners have still to do.
	 * @return a sentence for each partition, empty if they have handled everything that
	 * is committed, dead events aside
	 */
	public List<String> busy() {
		return this.busy.run(Map.of(), (row) -> {
			List<String> reasons = new ArrayList<>();
			while (row.next()) {
				reasons.add(row.getString("reason"));
			}
			return reasons;
		});
	}

}
