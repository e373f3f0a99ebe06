package io.pgbus.store;

/**
 * The SQL that finds events by time. There is no index on time: ids and times are drawn
 * one after the other, so they grow together but for a short while, and the range of ids
 * is halved until nothing is left of it.
 */
final class TimeSearch {

	/** More than that short while. */
	static final String SLACK = "interval '1 minute'";

	private TimeSearch() {
	}

	/**
	 * The id of the last event, in the stream and partition of c, that is older than a
	 * time.
	 * @param lastId an expression: those with higher ids are not searched for
	 * @param time an expression: the time
	 * @return a query with one row
	 */
	static String lastBefore(String lastId, String time) {
		return """
				with recursive search(low, high) as (
					select 0::bigint, %s
					union all
					select
						case when e.is_older then e.id else s.low end,
						case when e.is_older then s.high else (s.low + s.high + 1) / 2 - 1 end
					from search s
					left join lateral (
						select e.id, e.published_at < %s as is_older
						from {bus}.event e
						where e.stream_id = c.stream_id and e.partition = c.partition
						and e.id >= (s.low + s.high + 1) / 2
						order by e.id limit 1
					) e on true
					where s.low < s.high
				)
				select max(low) from search""".formatted(lastId, time);
	}

}
