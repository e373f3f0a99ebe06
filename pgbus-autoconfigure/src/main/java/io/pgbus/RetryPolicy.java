package io.pgbus;

import java.time.Duration;
import java.util.Set;

/**
 * How often and when an event whose handler failed is tried again, and what becomes of it
 * when no attempt is left.
 *
 * @param attempts the most attempts, the first delivery included; at least 1
 * @param backOff the time from the first failure to the second attempt
 * @param multiplier what each later wait is longer by; at least 1
 * @param maxBackOff the longest wait
 * @param jitter the part of a wait that is random: from 0 for none to 1
 * @param notRetried exceptions after which an event is dead at once, looked for in the
 * whole chain of causes
 * @param onDead what becomes of later events with the key of a dead one
 * @since 0.1.0
 */
public record RetryPolicy(int attempts, Duration backOff, double multiplier, Duration maxBackOff, double jitter,
		Set<Class<? extends Throwable>> notRetried, OnDead onDead) {

	/**
	 * Five attempts over about a minute.
	 */
	public static final RetryPolicy DEFAULT = new RetryPolicy(5, Duration.ofSeconds(1), 4, Duration.ofSeconds(30), 0.1,
			Set.of(UnreadableEventException.class), OnDead.CONTINUE);

	/**
	 * Checks the numbers.
	 * @throws IllegalArgumentException if one is out of range
	 */
	public RetryPolicy {
		require(attempts >= 1, "attempts", attempts, "at least 1");
		require(!backOff.isNegative(), "backOff", backOff, "zero or more");
		require(multiplier >= 1, "multiplier", multiplier, "at least 1");
		require(!maxBackOff.isNegative(), "maxBackOff", maxBackOff, "zero or more");
		require(jitter >= 0 && jitter <= 1, "jitter", jitter, "from 0 to 1");
		notRetried = Set.copyOf(notRetried);
	}

	private static void require(boolean condition, String what, Object value, String range) {
		if (!condition) {
			throw new IllegalArgumentException(
					"The " + what + " of a retry policy is " + value + ", but must be " + range);
		}
	}

	/**
	 * What becomes of later events with the key of a dead one.
	 */
	public enum OnDead {

		/** They go on. */
		CONTINUE,

		/** They are held until the dead event is retried or discarded. */
		HOLD_KEY

	}

}
