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
 * Shows the bus: its streams, its groups and who holds what. No answer costs more for a
 * log that is longer.
 *
 * @since 0.1.0
 */
public final class BusView {

	/**
	 * Estimates how many events there are above an id. Up to 500 are counted. Of more,
	 * the density of ids at both ends is taken for that of all; by segment, since between
	 * segments there are ids that nobody drew.
	 */
	private static final String ESTIMATE = """
			cross join lateral (
				select coalesce(sum(
					case when head.n < 500 then head.n
					else greatest(
						head.n,
						(tail.last - head.first)
							* (499.0 / (head.last - head.first) + 499.0 / (tail.last - tail.first)) / 2 + 1
					) end
				), 0)::bigint as events
				from generate_series(
					greatest(%1$s, 0) / 1000000000, (select last_value from {bus}.event_id) / 1000000000
				) as segment
				cross join lateral (
					select count(*) as n, min(e.id) as first, max(e.id) as last
					from (
						select e.id from {bus}.event e
						where e.stream_id = c.stream_id and e.partition = c.partition and e.id > %1$s
						and e.id >= segment * 1000000000 and e.id < (segment + 1) * 1000000000
						order by e.id limit 500
					) e
				) head
				cross join lateral (
					select min(e.id) as first, max(e.id) as last
					from (
						select e.id from {bus}.event e
						where head.n = 500 and e.stream_id = c.stream_id and e.partition = c.partition and e.id > %1$s
						and e.id >= segment * 1000000000 and e.id < (segment + 1) * 1000000000
						order by e.id desc limit 500
					) e
				) tail
			) estimate
			""";

	private static final String STREAMS = """
			select s.name, s.partitions, min(first.id) as first_id, max(last.id) as last_id,
				sum(estimate.events)::bigint as events
			from {bus}.stream s
			cross join lateral (
				select s.id as stream_id, p as partition from generate_series(0, s.partitions - 1) as p
			) c
			left join lateral (
				select e.id from {bus}.event e
				where e.stream_id = c.stream_id and e.partition = c.partition
				order by e.id limit 1
			) first on true
			left join lateral (
				select e.id from {bus}.event e
				where e.stream_id = c.stream_id and e.partition = c.partition
				order by e.id desc limit 1
			) last on true
			%s
			group by s.id
			order by s.name
			""".formatted(ESTIMATE.formatted("(-1)"));

	/** A cursor whose window is done has done what its high horizon sees. */
	private static final String GROUPS = """
			select g.name, g.paused, c.stream, c.partition, c.position, k.name as consumer, c.claimed_at, c.lag
			from {bus}.consumer_group g
			left join (
				select c.*, estimate.events as lag
				from (
					select c.group_id, c.stream_id, c.partition, stream.name as stream, s.owner, s.claimed_at,
						greatest(s.position, case when s.position < s.ceiling then s.low_floor else s.high_floor end)
							as position
					from {bus}.cursor c
					join {bus}.stream on stream.id = c.stream_id
					%s
				) c
				%s
			) c on c.group_id = g.id
			left join {bus}.consumer k on k.id = c.owner
			order by g.name, c.stream, c.partition
			""".formatted(CursorStore.STATE, ESTIMATE.formatted("c.position"));

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
		this.streams = database.ownRoundTrip(Horizon.PLANNER, STREAMS);
		this.groups = database.ownRoundTrip(Horizon.PLANNER, GROUPS);
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
				streams.add(new StreamInfo(row.getString("name"), row.getInt("partitions"),
						nullableLong(row, "first_id"), nullableLong(row, "last_id"), row.getLong("events")));
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
		OffsetDateTime since = row.getObject("claimed_at", OffsetDateTime.class);
		return new CursorInfo(row.getString("stream"), row.getInt("partition"), row.getLong("position"),
				row.getString("consumer"), (since != null) ? since.toInstant() : null, row.getLong("lag"));
	}

	private static @Nullable Long nullableLong(ResultSet row, String column) throws SQLException {
		long value = row.getLong(column);
		return row.wasNull() ? null : value;
	}

	private static Instant instant(ResultSet row, String column) throws SQLException {
		return row.getObject(column, OffsetDateTime.class).toInstant();
	}

}
