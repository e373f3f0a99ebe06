package io.pgbus.store;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;

/**
 * A condition on events, written in SQL by the application's developer. It becomes part
 * of a larger statement, so it must be one expression: it may not close what it did not
 * open, end the statement, or comment out what follows. Nothing in it is taken for a
 * parameter.
 *
 * @since 0.1.0
 */
public final class EventFilter {

	private static final String CHECK = """
			select (
			%s
			)::boolean
			from (
				select null::bigint as id, null::text as stream, null::integer as partition, null::text as type,
					null::text as key, null::jsonb as payload, null::jsonb as headers, null::timestamptz as published_at
			) event where false
			""";

	private static final String CONDITION = """
			coalesce((
				select (
			%s
				)::boolean
				from (
					select e.id, n.stream, e.partition, e.type, e.key, e.payload, e.headers, e.published_at
				) event
			), false)""";

	private static final String MATCHES = """
			select %s
			from {bus}.event e
			cross join lateral (select e.stream_id, :stream::text as stream) n
			where e.stream_id = :streamId and e.partition = :partition and e.id = :eventId
			""";

	private EventFilter() {
	}

	/**
	 * Checks a filter: its form, and by PostgreSQL its names and types.
	 * @param database the database
	 * @param filter the filter
	 * @throws IllegalArgumentException if it cannot be used, with the reason
	 */
	public static void check(BusDatabase database, String filter) {
		try {
			database.own(CHECK.formatted(asExpression(filter))).query().listOfRows();
		}
		catch (DataAccessException ex) {
			throw new IllegalArgumentException("PostgreSQL does not take the filter [" + filter + "]: "
					+ ex.getMostSpecificCause().getMessage()
					+ ". A filter is a condition on id, stream, partition, type, key, payload, headers and published_at.",
					ex);
		}
	}

	/**
	 * Asks a filter about one event.
	 * @param database the database
	 * @param filter the filter
	 * @param claim where the event is from
	 * @param eventId the event
	 * @return whether it matches
	 * @throws DataAccessException if the filter fails on the event
	 */
	public static boolean matches(BusDatabase database, String filter, Claim claim, long eventId) {
		return database.own(MATCHES.formatted(condition(filter)))
			.param("stream", claim.stream())
			.param("streamId", claim.streamId())
			.param("partition", claim.partition())
			.param("eventId", eventId)
			.query(Boolean.class)
			.single();
	}

	/**
	 * Returns the condition for an event e of the cursor n.
	 */
	static String condition(@Nullable String filter) {
		return (filter != null) ? CONDITION.formatted(asExpression(filter)) : "true";
	}

	/**
	 * Checks that the text stays inside its parentheses, and doubles or escapes what a
	 * JDBC driver or Spring would take for a parameter.
	 */
	static String asExpression(String filter) {
		return asExpression(filter, true);
	}

	/**
	 * Does the same, for a statement whose parameters have names or not.
	 */
	static String asExpression(String filter, boolean named) {
		return SqlText.asOnePart("filter", filter, named);
	}

}
