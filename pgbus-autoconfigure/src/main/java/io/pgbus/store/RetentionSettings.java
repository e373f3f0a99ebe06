package io.pgbus.store;

import java.time.Duration;

/**
 * How the segments of the log are looked after.
 *
 * @param interval the time between two rounds
 * @param segmentEvents how many ids a segment has before the next one begins, at most
 * {@value #MAX_SEGMENT_EVENTS}
 * @param segmentDuration how long ids are drawn from a segment before the next one
 * begins, where a stream does not keep its events for ever
 * @param dropUnread whether events that are kept for a time go after it also where a
 * group has not passed them
 * @param abandonedAfter the time after which a group that nothing was seen of is taken
 * for abandoned
 * @param dropAbandoned whether events go also where only abandoned groups have not passed
 * them
 * @since 0.1.0
 */
public record RetentionSettings(Duration interval, long segmentEvents, Duration segmentDuration, boolean dropUnread,
		Duration abandonedAfter, boolean dropAbandoned) {

	/** The settings by default. */
	public static final RetentionSettings DEFAULTS = new RetentionSettings(Duration.ofMinutes(1), 100_000_000,
			Duration.ofDays(1), false, Duration.ofDays(30), false);

	/** Half of the ids that a segment has: see {@link SegmentStore}. */
	static final long MAX_SEGMENT_EVENTS = 500_000_000;

	/**
	 * Creates settings.
	 * @throws IllegalArgumentException if a value cannot be
	 */
	public RetentionSettings {
		positive("interval", interval);
		positive("segment-duration", segmentDuration);
		positive("abandoned-after", abandonedAfter);
		if (segmentEvents < 1 || segmentEvents > MAX_SEGMENT_EVENTS) {
			throw new IllegalArgumentException("pgbus.retention.segment-events is " + segmentEvents
					+ ", but must be from 1 to " + MAX_SEGMENT_EVENTS);
		}
	}

	private static void positive(String name, Duration value) {
		if (value.isNegative() || value.isZero()) {
			throw new IllegalArgumentException(
					"pgbus.retention." + name + " is " + value + ", but must be greater than zero");
		}
	}

}
