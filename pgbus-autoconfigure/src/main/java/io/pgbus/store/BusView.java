package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.pgbus.CursorInfo;
import io.pgbus.GroupInfo;
import io.pgbus.PendingEvents;
import io.pgbus.StreamInfo;
import org.jspecify.annotations.Nullable;

/**
 * Shows the bus to applications: its streams, its groups and who holds what. No answer
 * costs more for a log that is longer.
 *
 * @since 0.1.0
 */
public final class BusView {

	static final String STREAMS = """
			select stream, partitions, first_event, last_event, estimated_events
			from {bus}.stream_status order by stream
			""";

	static final String GROUPS = """
			select g.name, g.paused, s.stream, s.partition, s.position, s.consumer, s.since, s.estimated_lag
			from {bus}.consumer_group g
			left join {bus}.group_status s on s.group_name = g.name
			order by g.name, s.stream, s.partition
			""";

	private static final String PENDING = """
			select k.name as consumer, h.stream, h.partition, h.position, h.reading_to, h.claimed_at, h.changed_at,
				array(select e.id from %s e order by e.id limit :limit) as ids
			from (
				select c.id, c.stream_id, c.partition, c.starts_at, stream.name as stream, s.owner, s.position,
					s.reading_to, s.claimed_at, s.changed_at, %s
				from {bus}.consumer_group g
				join {bus}.cursor c on c.group_id = g.id
				join {bus}.stream on stream.id = c.stream_id
				%s
				where g.name = :group and s.owner is not null
			) h
			join {bus}.consumer k on k.id = h.owner
			order by h.claimed_at, h.id
			""".formatted(HeldEvents.PENDING, CursorStore.HORIZONS, CursorStore.STATE);

	private final RoundTrip streams;

	private final RoundTrip groups;

	private final RoundTrip pending;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public BusView(BusDatabase database) {
		this.streams = BusStatus.look(database, STREAMS);
		this.groups = BusStatus.look(database, GROUPS);
		this.pending = database.ownRoundTrip(Horizon.PLANNER, PENDING);
	}

	/**
	 * Returns the streams, in a transaction of its own.
	 * @return the streams, by name
	 */
	public List<StreamInfo> streams() {
		return this.streams.run(Map.of(), (row) -> {
			List<StreamInfo> streams = new ArrayList<>();
			while (row.next()) {
				streams.add(new StreamInfo(row.getString("stream"), row.getInt("partitions"),
						nullableLong(row, "first_event"), nullableLong(row, "last_event"),
						row.getLong("estimated_events")));
			}
			return streams;
		});
	}

	/**
	 * Returns the groups, in a transaction of its own.
	 * @return the groups, by name
	 */
	public List<GroupInfo> groups() {
		return this.groups.run(Map.of(), (row) -> {
			Map<String, Boolean> paused = new LinkedHashMap<>();
			Map<String, List<CursorInfo>> cursors = new HashMap<>();
			while (row.next()) {
				String name = row.getString("name");
				paused.put(name, row.getBoolean("paused"));
				List<CursorInfo> ofGroup = cursors.computeIfAbsent(name, (key) -> new ArrayList<>());
				if (row.getString("stream") != null) {
					ofGroup.add(readCursor(row));
				}
			}
			List<GroupInfo> groups = new ArrayList<>();
			paused.forEach((name, isPaused) -> groups
				.add(new GroupInfo(name, isPaused, cursors.getOrDefault(name, List.of()))));
			return groups;
		});
	}

	/**
	 * Returns what is held of a group, in a transaction of its own.
	 * @param group the group
	 * @param limit the most ids to return of one cursor
	 * @return what is held, longest held first
	 */
	public List<PendingEvents> pending(String group, int limit) {
		return this.pending.run(Map.of("group", group, "limit", limit), (row) -> {
			List<PendingEvents> pending = new ArrayList<>();
			while (row.next()) {
				pending.add(new PendingEvents(row.getString("consumer"), row.getString("stream"),
						row.getInt("partition"), row.getLong("position"), row.getLong("reading_to"),
						List.of((Long[]) row.getArray("ids").getArray()), instant(row, "claimed_at"),
						instant(row, "changed_at")));
			}
			return pending;
		});
	}

	private static CursorInfo readCursor(ResultSet row) throws SQLException {
		OffsetDateTime since = row.getObject("since", OffsetDateTime.class);
		return new CursorInfo(row.getString("stream"), row.getInt("partition"), row.getLong("position"),
				row.getString("consumer"), (since != null) ? since.toInstant() : null, row.getLong("estimated_lag"));
	}

	private static @Nullable Long nullableLong(ResultSet row, String column) throws SQLException {
		long value = row.getLong(column);
		return row.wasNull() ? null : value;
	}

	private static Instant instant(ResultSet row, String column) throws SQLException {
		return row.getObject(column, OffsetDateTime.class).toInstant();
	}

}
