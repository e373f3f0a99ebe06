package io.pgbus.store;

import java.time.Duration;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * What is in a complete segment: which streams, what groups have not passed of them, what
 * failures still need.
 * <p>
 * <b>Invariant.</b> An event is pending for a cursor if it can still read it. The cursor
 * is past what its low horizon sees and what that does not take for late; in an open
 * window also past what its high horizon sees up to its position, and at the end of the
 * window past all of it. The events of the segment are all committed, so what is pending
 * is found as a claim finds it: behind a floor by the primary key, and of late
 * transactions by theirs.
 */
final class SegmentContents {

	/** A table's stream keeps what its groups need, whatever is declared. */
	private static final String STREAMS = """
			with recursive present(stream_id) as (
				(select e.stream_id from {bus}.event_%1$d e order by e.stream_id limit 1)
				union all
				select (
					select e.stream_id from {bus}.event_%1$d e
					where e.stream_id > p.stream_id order by e.stream_id limit 1
				)
				from present p where p.stream_id is not null
			)
			select s.id, s.name,
				case when t.stream_id is not null then 0 else extract(epoch from s.retention) end::float8 as seconds
			from present p
			join {bus}.stream s on s.id = p.stream_id
			left join {bus}.table_stream t on t.stream_id = s.id
			order by s.id
			""";

	/** The pending events of a reader r, which has a state. */
	private static final String PENDING = """
			(
				select e.id from {bus}.event_%%1$d e
				where e.stream_id = r.stream_id and e.partition = r.partition and e.id > r.done_to
				and not pg_visible_in_snapshot(e.tx, r.done)
				limit :count
			)
			union
			(
				select e.id from %1$s
				join {bus}.event_%%1$d e on e.tx = late.tx and e.stream_id = r.stream_id and e.partition = r.partition
				where r.is_open and not (pg_visible_in_snapshot(e.tx, r.high_snapshot) and e.id <= r.position)
				limit :count
			)
			union
			(
				select e.id from %2$s
				join {bus}.event_%%1$d e on e.tx = late.tx and e.stream_id = r.stream_id and e.partition = r.partition
				where e.id <= r.done_to
				limit :count
			)
			union
			(
				select e.id from {bus}.event_%%1$d e
				where r.is_open and e.stream_id = r.stream_id and e.partition = r.partition
				and e.id > r.high_floor and e.id <= r.position and not pg_visible_in_snapshot(e.tx, r.high_snapshot)
				limit :count
			)
			""".formatted(Horizon.late("r.low_snapshot", "r.low_bound"),
			Horizon.late("r.high_snapshot", "r.high_bound"));

	/** A group that has no state yet is about to begin, who knows where. */
	private static final String UNREAD = """
			with reader as materialized (
				select g.id as group_id, g.name, c.stream_id, c.partition, s.*, s.position < s.ceiling as is_open,
					case when s.position < s.ceiling then s.low_snapshot else s.high_snapshot end as done,
					greatest(
						case when s.position < s.ceiling then s.position end,
						case when s.position < s.ceiling then s.low_floor else s.high_floor end
					) as done_to
				from {bus}.cursor c
				join {bus}.consumer_group g on g.id = c.group_id
				left join lateral (
					select %1$s, s.position, s.ceiling from {bus}.cursor_state s
					where s.cursor_id = c.id order by s.version desc limit 1
				) s on true
				where c.stream_id = :streamId and %2$s
			),
			unread as (
				select r.group_id, sum(p.events)::bigint as events, bool_or(p.events >= :count) as are_more
				from reader r
				cross join lateral (
					select count(*) as events from (
						%3$s
						union all
						(
							select e.id from {bus}.event_%%1$d e
							where r.position is null and e.stream_id = r.stream_id and e.partition = r.partition
							limit :count
						)
					) p
				) p
				where p.events > 0
				group by r.group_id
			)
			select g.name, u.events, u.are_more,
				coalesce(%4$s, '-infinity') < clock_timestamp() - make_interval(secs => :abandonedSeconds::float8)
					as abandoned
			from unread u join {bus}.consumer_group g on g.id = u.group_id
			order by g.name
			""".formatted(CursorStore.HORIZONS, ChangeStreamTrimmer.HOLDS, PENDING, RetentionStore.SEEN_AT);

	/**
	 * As one statement on one partition of the segment knows its index, it may not scan.
	 */
	private static final String KEEP_FAILED = """
			insert into {bus}.kept_event
				(tx, id, published_at, stream_id, partition, size, type, key, payload, headers)
			select distinct on (e.stream_id, e.partition, e.id)
				e.tx, e.id, e.published_at, e.stream_id, e.partition, e.size, e.type, e.key, e.payload, e.headers
			from {bus}.cursor c
			join {bus}.failed_event f
				on f.cursor_id = c.id and f.event_id >= :firstId and f.event_id < :firstId + :size
			join {bus}.event_%1$d e
				on e.stream_id = c.stream_id and e.partition = c.partition and e.id = f.event_id
			on conflict do nothing
			""";

	private static final String MARK = "update {bus}.segment set dropping = true where number = :number";

	/** An event that a failure needs stays, until the segment goes. */
	private static final String DELETE = """
			with looked as materialized (
				select e.partition, e.id from {bus}.event_%1$d e
				where e.stream_id = :streamId and (e.partition, e.id) > (:partition, :id)
				order by e.partition, e.id limit :limit
			),
			removed as (
				delete from {bus}.event_%1$d e using looked l
				where e.stream_id = :streamId and e.partition = l.partition and e.id = l.id
				and not exists (
					select from {bus}.cursor c join {bus}.failed_event f on f.cursor_id = c.id
					where c.stream_id = e.stream_id and c.partition = e.partition and f.event_id = e.id
				)
				returning 1
			)
			select l.partition, l.id, (select count(*) from removed) as removed
			from looked l order by l.partition desc, l.id desc limit 1
			""";

	private static final String FORGET_KEPT = """
			delete from {bus}.kept_event k
			where not exists (
				select from {bus}.cursor c join {bus}.failed_event f on f.cursor_id = c.id
				where c.stream_id = k.stream_id and c.partition = k.partition and f.event_id = k.id
			)
			""";

	/** How many pending events of a partition are counted. */
	static final int MAX_COUNT = 10_000;

	private static final int ROWS_PER_DELETE = 1000;

	private final BusDatabase database;

	SegmentContents(BusDatabase database) {
		this.database = database;
	}

	/** The streams that have events in a segment. */
	List<StreamIn> streams(long number) {
		return this.database.ownRoundTrip(Horizon.PLANNER, STREAMS.formatted(number))
			.run(Map.of(), BusStatus.list((row, index) -> {
				Double seconds = row.getObject("seconds", Double.class);
				return new StreamIn(row.getInt("id"), row.getString("name"),
						(seconds != null) ? Duration.ofMillis(Math.round(seconds * 1000)) : null);
			}));
	}

	/** The groups that have not passed what a segment has of a stream. */
	List<Unread> unread(long number, StreamIn stream, Duration abandonedAfter) {
		return this.database.ownRoundTrip(Horizon.PLANNER, UNREAD.formatted(number))
			.run(Map.of("streamId", stream.id(), "count", MAX_COUNT, "abandonedSeconds",
					abandonedAfter.toMillis() / 1000d),
					BusStatus.list((row, index) -> new Unread(row.getString("name"), stream.name(),
							row.getLong("events"), row.getBoolean("are_more"), row.getBoolean("abandoned"))));
	}

	/**
	 * Gives a segment up. What failures need is copied before: a failure is recorded
	 * before a position is saved, so where all have passed, none is missed.
	 * @return how many events were copied
	 */
	int giveUp(SegmentStore.Segment segment) {
		Integer kept = this.database.ownTransaction().execute((status) -> {
			int copied = this.database.own(KEEP_FAILED.formatted(segment.number()))
				.param("firstId", segment.firstId())
				.param("size", SegmentStore.SIZE)
				.update();
			this.database.own(MARK).param("number", segment.number()).update();
			return copied;
		});
		return (kept != null) ? kept : 0;
	}

	/**
	 * Deletes some of what a segment has of a stream, in a transaction of its own.
	 * @param after where the part before this ended, or {@code null} to begin
	 * @return where it ended, or {@code null} if there was nothing any more
	 */
	@Nullable Deleted delete(long number, StreamIn stream, @Nullable Deleted after) {
		List<Deleted> deleted = this.database.ownRoundTrip(Horizon.PLANNER, DELETE.formatted(number))
			.run(Map.of("streamId", stream.id(), "partition", (after != null) ? after.partition() : -1, "id",
					(after != null) ? after.id() : -1L, "limit", ROWS_PER_DELETE),
					BusStatus.list((row, index) -> new Deleted(row.getInt("partition"), row.getLong("id"),
							row.getLong("removed"))));
		return deleted.isEmpty() ? null : deleted.get(0);
	}

	/** Forgets the copies that no failure needs any more. */
	int forgetKept() {
		return this.database.own(FORGET_KEPT).update();
	}

	/**
	 * A stream that has events in a segment.
	 *
	 * @param id its id
	 * @param name its name
	 * @param retention how long it keeps events, or {@code null} for ever
	 */
	record StreamIn(int id, String name, @Nullable Duration retention) {

		/** All that a segment has of it was published longer ago. */
		boolean isExpired(SegmentStore.Segment segment) {
			return this.retention != null && segment.completeFor().compareTo(this.retention) >= 0;
		}

		boolean isKeptUntilConsumed() {
			return this.retention != null && this.retention.isZero();
		}

	}

	/**
	 * What a group has not passed.
	 *
	 * @param group its name
	 * @param stream the name of the stream
	 * @param events how many events, up to {@value SegmentContents#MAX_COUNT} of each
	 * partition counted in each of the ways to find them
	 * @param areMore whether there may be more
	 * @param abandoned whether nothing was seen of the group for long
	 */
	record Unread(String group, String stream, long events, boolean areMore, boolean abandoned) {

	}

	/**
	 * Where a part of a deletion ended.
	 *
	 * @param partition the partition
	 * @param id the id
	 * @param removed how many events it has removed
	 */
	record Deleted(int partition, long id, long removed) {

	}

}
