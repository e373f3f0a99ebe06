package io.pgbus.store;

import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import io.pgbus.store.GroupStatus.FailureCounts;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.core.ResultSetExtractor;
import org.springframework.jdbc.core.RowMapper;

/**
 * The state of the bus for those who look after it, from the views of the schema. What a
 * look costs grows with the partitions, not with the log; one that takes long is given
 * up.
 *
 * @since 0.1.0
 */
public final class BusStatus {

	static final String STREAMS = """
			select * from {bus}.stream_status
			where stream in (select name from {bus}.stream order by name limit :limit)
			order by stream
			""";

	private static final String STATUS_OF_GROUPS = """
			select g.name as group_name, g.paused,
				array_agg(distinct s.stream order by s.stream) filter (where s.stream is not null) as streams,
				coalesce(sum(s.estimated_lag), 0)::bigint as estimated_lag,
				coalesce(extract(epoch from clock_timestamp() - min(s.oldest_waiting_at)), 0)::float8 as lag_seconds,
				count(s.stream) as cursors, count(s.oldest_waiting_at) as behind, count(s.since) as held_cursors,
				array_agg(distinct s.consumer) filter (where s.consumer is not null) as consumers, min(s.since) as since,
				coalesce(sum(s.retrying), 0)::bigint as retrying, coalesce(sum(s.held), 0)::bigint as held,
				coalesce(sum(s.dead), 0)::bigint as dead
			from (select name, paused from {bus}.consumer_group %s) g
			left join {bus}.group_status s on s.group_name = g.name
			group by g.name, g.paused
			order by g.name
			""";

	static final String GROUPS = STATUS_OF_GROUPS.formatted("order by name limit :limit");

	private static final String GROUP = STATUS_OF_GROUPS.formatted("where name = :group");

	private static final String EXISTS = "select exists (select from {bus}.consumer_group where name = :group)";

	static final String CURSORS = """
			select s.*,
				coalesce(extract(epoch from clock_timestamp() - s.oldest_waiting_at), 0)::float8 as lag_seconds,
				f.reading_since, f.after_event, f.up_to_event
			from {bus}.group_status s
			left join {bus}.in_flight f
				on f.group_name = s.group_name and f.stream = s.stream and f.partition = s.partition
			where s.group_name = :group
			order by s.stream, s.partition
			limit :limit
			""";

	static final String CONSUMERS = """
			select k.id, k.name, k.started_at, k.locked, %s as dead,
				extract(epoch from clock_timestamp() - k.heartbeat_at)::float8 as silent_seconds,
				array(
					select m.listener || ' (' || g.name || ')'
					from {bus}.member m
					join {bus}.consumer_group g on g.id = m.group_id
					where m.consumer_id = k.id
					order by 1 limit :limit
				) as listeners
			from {bus}.consumer k
			order by k.id
			limit :limit
			""".formatted(ConsumerStore.IS_DEAD);

	/**
	 * The planner settings of a query that looks at the log, which is given up when it
	 * takes long. What comes out of an index in order must not be read to its end and
	 * sorted instead.
	 */
	static final String PLANNER = Horizon.PLANNER
			+ ", set_config('enable_sort', 'off', true), set_config('statement_timeout', '10s', true)";

	private final RoundTrip streams;

	private final RoundTrip groups;

	private final RoundTrip group;

	private final RoundTrip exists;

	private final RoundTrip cursors;

	private final RoundTrip consumers;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public BusStatus(BusDatabase database) {
		this.streams = look(database, STREAMS);
		this.groups = look(database, GROUPS);
		this.group = look(database, GROUP);
		this.exists = look(database, EXISTS);
		this.cursors = look(database, CURSORS);
		this.consumers = look(database, CONSUMERS);
	}

	/** A query that looks at the log without waiting for long. */
	static RoundTrip look(BusDatabase database, String query) {
		return database.ownRoundTrip(PLANNER, query);
	}

	/**
	 * Returns streams.
	 * @param limit the most to return
	 * @return the streams, by name
	 */
	public List<StreamStatus> streams(int limit) {
		return this.streams.run(Map.of("limit", limit),
				list((row, index) -> new StreamStatus(row.getString("stream"), row.getInt("partitions"),
						row.getObject("first_event", Long.class), instant(row, "first_published_at"),
						row.getObject("last_event", Long.class), instant(row, "last_published_at"),
						row.getLong("estimated_events"), row.getDouble("estimated_rate"))));
	}

	/**
	 * Returns groups.
	 * @param limit the most to return
	 * @return the groups, by name
	 */
	public List<GroupStatus> groups(int limit) {
		return this.groups.run(Map.of("limit", limit), list((row, index) -> group(row)));
	}

	/**
	 * Returns a group.
	 * @param group the name of the group
	 * @return the group, or {@code null} if there is none
	 */
	public @Nullable GroupStatus group(String group) {
		return this.group.run(Map.of("group", group), list((row, index) -> group(row)))
			.stream()
			.findFirst()
			.orElse(null);
	}

	private GroupStatus group(ResultSet row) throws SQLException {
		return new GroupStatus(row.getString("group_name"), strings(row, "streams"), row.getBoolean("paused"),
				row.getLong("estimated_lag"), seconds(row, "lag_seconds"), row.getInt("cursors"), row.getInt("behind"),
				row.getInt("held_cursors"), strings(row, "consumers"), instant(row, "since"), failures(row));
	}

	/**
	 * Tells whether there is a group.
	 * @param group the name of the group
	 * @return whether there is
	 */
	public boolean hasGroup(String group) {
		return this.exists.run(Map.of("group", group), (row) -> {
			row.next();
			return row.getBoolean(1);
		});
	}

	/**
	 * Returns the cursors of a group.
	 * @param group the name of the group
	 * @param limit the most to return
	 * @return the cursors, by stream and partition
	 */
	public List<CursorStatus> cursors(String group, int limit) {
		return this.cursors.run(Map.of("group", group, "limit", limit),
				list((row, index) -> new CursorStatus(row.getString("stream"), row.getInt("partition"),
						row.getLong("position"), row.getLong("estimated_lag"), seconds(row, "lag_seconds"),
						row.getString("consumer"), row.getObject("worker", Integer.class), instant(row, "since"),
						instant(row, "reading_since"), row.getObject("after_event", Long.class),
						row.getObject("up_to_event", Long.class), failures(row))));
	}

	/**
	 * Returns running application instances.
	 * @param limit the most to return
	 * @return the instances, oldest first
	 */
	public List<ConsumerStatus> consumers(int limit) {
		return this.consumers.run(Map.of("limit", limit),
				list((row, index) -> new ConsumerStatus(row.getInt("id"), row.getString("name"),
						row.getObject("started_at", OffsetDateTime.class).toInstant(), seconds(row, "silent_seconds"),
						row.getBoolean("dead"), row.getBoolean("locked"), strings(row, "listeners"))));
	}

	static <T> ResultSetExtractor<List<T>> list(RowMapper<T> mapper) {
		return (row) -> {
			List<T> list = new ArrayList<>();
			while (row.next()) {
				list.add(mapper.mapRow(row, list.size()));
			}
			return list;
		};
	}

	static @Nullable Instant instant(ResultSet row, String column) throws SQLException {
		OffsetDateTime time = row.getObject(column, OffsetDateTime.class);
		return (time != null) ? time.toInstant() : null;
	}

	private static double seconds(ResultSet row, String column) throws SQLException {
		return Math.round(row.getDouble(column) * 1000) / 1000d;
	}

	private static List<String> strings(ResultSet row, String column) throws SQLException {
		Array array = row.getArray(column);
		return (array != null) ? List.of((String[]) array.getArray()) : List.of();
	}

	private static FailureCounts failures(ResultSet row) throws SQLException {
		return new FailureCounts(row.getLong("retrying"), row.getLong("held"), row.getLong("dead"));
	}

}
