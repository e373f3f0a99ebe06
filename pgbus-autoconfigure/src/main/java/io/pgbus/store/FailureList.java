package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * Lists failed events, a page at a time.
 *
 * @since 0.1.0
 */
public final class FailureList {

	/** A page is chosen in each partition first, so that it costs what it has. */
	static final String PAGE = """
			select p.*, e.published_at, e.size,
				case when :payloadLimit > 0 then left(e.payload::text, :payloadLimit) end as payload,
				case when :payloadLimit > 0 then left(e.headers::text, :payloadLimit) end as headers,
				case when :stack then p.error_stack end as stack
			from (
				select f.*, c.stream_id, c.partition, stream.name as stream
				from {bus}.consumer_group g
				join {bus}.cursor c on c.group_id = g.id
				join {bus}.stream on stream.id = c.stream_id
				cross join lateral (
					select f.* from {bus}.failed_event f
					where f.cursor_id = c.id and f.event_id > :after and %s
					order by f.event_id limit :limit
				) f
				where g.name = :group
				order by f.event_id limit :limit
			) p
			left join lateral (
				%s
			) e on true
			order by p.event_id
			""".formatted(FailureFilter.MATCHES, FailureStore.event("p", "p"));

	private final RoundTrip page;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public FailureList(BusDatabase database) {
		this.page = BusStatus.look(database, PAGE);
	}

	/**
	 * Returns failed events of a group.
	 * @param group the name of the group
	 * @param filter which of them
	 * @param after the id of the event behind which the page begins
	 * @param limit the most events to return
	 * @param stack whether to return the stacks of the errors
	 * @param payloadLimit the most characters to return of a payload, 0 to return none
	 * @return the events, by id
	 */
	public List<FailedEvent> page(String group, FailureFilter filter, long after, int limit, boolean stack,
			int payloadLimit) {
		Map<String, @Nullable Object> parameters = filter.parameters();
		parameters.put("group", group);
		parameters.put("after", after);
		parameters.put("limit", limit);
		parameters.put("stack", stack);
		parameters.put("payloadLimit", payloadLimit);
		return this.page.run(parameters, BusStatus.list(FailureList::read));
	}

	private static FailedEvent read(ResultSet row, int index) throws SQLException {
		return new FailedEvent(row.getLong("event_id"), row.getString("stream"), row.getInt("partition"),
				row.getString("key"), row.getString("type"), row.getString("state"), row.getInt("attempts"),
				BusStatus.instant(row, "next_attempt_at"), BusStatus.instant(row, "first_failed_at"),
				BusStatus.instant(row, "last_failed_at"), row.getString("error_type"), row.getString("error_message"),
				row.getString("stack"), BusStatus.instant(row, "published_at"), row.getObject("size", Integer.class),
				row.getString("payload"), row.getString("headers"));
	}

}
