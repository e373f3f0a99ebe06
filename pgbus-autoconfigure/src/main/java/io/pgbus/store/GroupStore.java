package io.pgbus.store;

import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.pgbus.StartPosition;
import org.jspecify.annotations.Nullable;

/**
 * Consumer groups and where they start.
 *
 * @since 0.1.0
 */
public final class GroupStore {

	private static final String CREATE_GROUP = """
			insert into {bus}.consumer_group (name) values (:group) on conflict do nothing
			""";

	private static final String CREATE_CURSORS = """
			insert into {bus}.cursor (group_id, stream_id, partition, starts_at)
			select g.id, s.id, p, :startsAt::timestamptz
			from {bus}.consumer_group g, {bus}.stream s, generate_series(0, s.partitions - 1) as p
			where g.name = :group and s.name = any(:streams)
			order by g.id, s.id, p
			on conflict do nothing
			""";

	/**
	 * Gives the cursors without a state, which are the new ones, their first: at the end
	 * of an empty window below the horizon to start at.
	 */
	private static final String START = """
			insert into {bus}.cursor_state (cursor_id, version, low_snapshot, low_floor, low_bound,
				high_snapshot, high_floor, high_bound, ceiling, position)
			select c.id, 1, h.snapshot, h.floor, h.bound, h.snapshot, h.floor, h.bound, 0, 0
			from {bus}.cursor c
			cross join lateral (
			%s
			) h(snapshot, floor, bound)
			where c.group_id = (select id from {bus}.consumer_group where name = :group)
			and not exists (select from {bus}.cursor_state s where s.cursor_id = c.id)
			on conflict do nothing
			""";

	private static final String FROM_NOW = "select " + Horizon.TAKEN;

	/** A horizon that sees nothing, and takes nothing up to its floor for late either. */
	private static final String FROM_ID = "select '3:3:'::pg_snapshot, :eventId - 1, '3'::xid8";

	/**
	 * Behind the last event that is surely older than the instant, of those that this
	 * statement finds for sure (see {@link Horizon#ONE_SEGMENT}). The exact cut is the
	 * cursor's starts_at.
	 */
	private static final String FROM_INSTANT = "select '3:3:'::pg_snapshot, ("
			+ TimeSearch.lastBefore(Horizon.KEPT_FLOOR, ":startsAt::timestamptz - " + TimeSearch.SLACK)
			+ "), '3'::xid8";

	private static final String IDS = """
			select (select id from {bus}.consumer_group where name = :group) as group_id,
				array(select s.id from {bus}.stream s where s.name = any(:streams) order by s.id) as stream_ids
			""";

	private final StreamStore streams;

	private final RoundTrip createAtLatest;

	private final RoundTrip createAtEvent;

	private final RoundTrip createAtInstant;

	/**
	 * Creates the store.
	 * @param database the database
	 * @param streams makes streams on first use
	 */
	public GroupStore(BusDatabase database, StreamStore streams) {
		this.streams = streams;
		this.createAtLatest = createAt(database, FROM_NOW);
		this.createAtEvent = createAt(database, FROM_ID);
		this.createAtInstant = createAt(database, FROM_INSTANT);
	}

	private static RoundTrip createAt(BusDatabase database, String horizon) {
		return database.ownRoundTrip(Horizon.FLOOR, Horizon.BOUND, CREATE_GROUP, CREATE_CURSORS,
				START.formatted(horizon), IDS);
	}

	/**
	 * Makes a group, its streams and its cursors where they do not exist yet, in
	 * transactions of its own. A group that exists keeps its place.
	 * @param group the name of the group
	 * @param streams the names of its streams
	 * @param start where cursors that are made now start
	 * @return the ids
	 */
	public GroupIds create(String group, Collection<String> streams, StartPosition start) {
		this.streams.createNow(streams);
		Map<String, Object> parameters = new HashMap<>();
		parameters.put("group", group);
		parameters.put("streams", streams.toArray(new String[0]));
		parameters.put("eventId", eventId(start));
		parameters.put("startsAt", startsAt(start));
		return roundTripFor(start).run(parameters, (row) -> {
			row.next();
			Integer[] streamIds = (Integer[]) row.getArray("stream_ids").getArray();
			return new GroupIds(row.getInt("group_id"), List.of(streamIds));
		});
	}

	private RoundTrip roundTripFor(StartPosition start) {
		if (start instanceof StartPosition.Latest) {
			return this.createAtLatest;
		}
		return (start instanceof StartPosition.AtInstant) ? this.createAtInstant : this.createAtEvent;
	}

	/** The horizon to start at for a cursor c, with the parameters of the next two. */
	static String horizon(StartPosition start) {
		if (start instanceof StartPosition.Latest) {
			return FROM_NOW;
		}
		return (start instanceof StartPosition.AtInstant) ? FROM_INSTANT : FROM_ID;
	}

	static long eventId(StartPosition start) {
		return (start instanceof StartPosition.AtEvent at) ? at.eventId() : 1L;
	}

	static @Nullable OffsetDateTime startsAt(StartPosition start) {
		return (start instanceof StartPosition.AtInstant at) ? at.instant().atOffset(ZoneOffset.UTC) : null;
	}

	/**
	 * The ids of a group and its streams.
	 *
	 * @param groupId the group
	 * @param streamIds the streams
	 */
	public record GroupIds(int groupId, List<Integer> streamIds) {

	}

}
