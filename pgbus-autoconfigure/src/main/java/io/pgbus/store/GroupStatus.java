package io.pgbus.store;

import java.time.Instant;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * How far a group is, in all of its partitions together.
 *
 * @param group the name of the group
 * @param streams the names of its streams
 * @param paused whether it is paused on all instances
 * @param estimatedLag how many events wait: exact up to 200 in a partition, beyond that
 * an estimate from the ids, which other streams share; failed events are not among them
 * @param lagSeconds the age of the oldest event that waits, 0 if none does
 * @param cursors the number of partitions
 * @param cursorsBehind in how many of them events wait
 * @param cursorsHeld how many of them are held by a consumer
 * @param consumers the names of the consumers that hold them
 * @param heldSince since when the first of them is held without a break, or {@code null}
 * if none is
 * @param failures the failed events by state
 * @since 0.1.0
 */
public record GroupStatus(String group, List<String> streams, boolean paused, long estimatedLag, double lagSeconds,
		int cursors, int cursorsBehind, int cursorsHeld, List<String> consumers, @Nullable Instant heldSince,
		FailureCounts failures) {

	/**
	 * Failed events by state. Of each state 10,000 are counted in a partition, and no
	 * more.
	 *
	 * @param retrying tried and to be tried again
	 * @param held behind an earlier event with the same key
	 * @param dead not to be tried again
	 */
	public record FailureCounts(long retrying, long held, long dead) {

	}

}
