package io.pgbus.store;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * How long a stream keeps its events.
 *
 * @param duration the time, zero to keep events until all groups have passed them, or
 * {@code null} to keep them for ever
 * @since 0.1.0
 */
public record Retention(@Nullable Duration duration) {

	/** Events are kept for ever. */
	public static final Retention FOREVER = new Retention(null);

	/** Events are kept until all groups have passed them. */
	public static final Retention CONSUMED = new Retention(Duration.ZERO);

	/**
	 * Creates a retention.
	 * @throws IllegalArgumentException if the time is negative
	 */
	public Retention {
		if (duration != null && duration.isNegative()) {
			throw new IllegalArgumentException("Events cannot be kept for less than no time: " + duration);
		}
	}

}
