package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads back what a stream holds, newest first. Each partition gives its newest events by
 * its index, and the newest of all are read.
 *
 * @since 0.1.0
 */
public final class HistoryStore {

	private static final String NEWEST = """
			select e.id, e.partition, e.type, e.key, e.payload, e.headers, e.published_at, false as held
			from (
				select c.stream_id, c.partition, n.id
				from (
					select s.id as stream_id, p as partition
					from {bus}.stream s, generate_series(0, s.partitions - 1) as p
					where s.name = :stream
				) c
				%s
				order by n.id desc limit :limit
			) top
			cross join lateral (
				select * from {bus}.event e
				where e.stream_id = top.stream_id and e.partition = top.partition and e.id = top.id
				limit 1
			) e
			order by e.id desc
			""";

	private static final String BY_ID = NEWEST.formatted("""
			cross join lateral (
				select e.id from {bus}.event e
				where e.stream_id = c.stream_id and e.partition = c.partition and e.id between :fromId and :toId
				order by e.id desc limit :limit
			) n
			""");

	/** Ids bound the search, and the times decide. */
	private static final String BY_TIME = NEWEST.formatted("""
			cross join lateral (%s) first(id)
			cross join lateral (%s) last(id)
			cross join lateral (
				select e.id from {bus}.event e
				where e.stream_id = c.stream_id and e.partition = c.partition
				and e.id > first.id and e.id <= last.id
				and e.published_at >= :from::timestamptz and e.published_at < :to::timestamptz
				order by e.id desc limit :limit
			) n
			""".formatted(TimeSearch.lastBefore(Horizon.LAST_ID, ":from::timestamptz - " + TimeSearch.SLACK),
			TimeSearch.lastBefore(Horizon.LAST_ID, ":to::timestamptz + " + TimeSearch.SLACK)));

	private final RoundTrip byId;

	private final RoundTrip byTime;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public HistoryStore(BusDatabase database) {
		this.byId = database.ownRoundTrip(Horizon.PLANNER, BY_ID);
		this.byTime = database.ownRoundTrip(Horizon.PLANNER, BY_TIME);
	}

	/**
	 * Returns the newest events of a range of ids, in a transaction of its own.
	 * @param stream the name of the stream
	 * @param fromId the lowest id
	 * @param toId the highest id
	 * @param limit the most events to return
	 * @return the events, newest first
	 */
	public List<Entry> newest(String stream, long fromId, long toId, int limit) {
		return this.byId.run(Map.of("stream", stream, "fromId", fromId, "toId", toId, "limit", limit),
				HistoryStore::readEntries);
	}

	/**
	 * Returns the newest events of a range of time, in a transaction of its own.
	 * @param stream the name of the stream
	 * @param from the earliest time
	 * @param to the time before which they were published
	 * @param limit the most events to return
	 * @return the events, newest first
	 */
	public List<Entry> newest(String stream, Instant from, Instant to, int limit) {
		Map<String, Object> parameters = new HashMap<>();
		parameters.put("stream", stream);
		parameters.put("from", from.atOffset(ZoneOffset.UTC));
		parameters.put("to", to.atOffset(ZoneOffset.UTC));
		parameters.put("limit", limit);
		return this.byTime.run(parameters, HistoryStore::readEntries);
	}

	private static List<Entry> readEntries(ResultSet row) throws SQLException {
		List<Entry> entries = new ArrayList<>();
		while (row.next()) {
			entries.add(new Entry(row.getInt("partition"), StoredEvent.read(row)));
		}
		return entries;
	}

	/**
	 * An event and where it is.
	 *
	 * @param partition its partition
	 * @param event the event
	 */
	public record Entry(int partition, StoredEvent event) {

	}

}
