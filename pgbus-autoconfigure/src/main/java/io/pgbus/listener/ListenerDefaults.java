package io.pgbus.listener;

import java.time.Duration;

import io.pgbus.DeliveryMode;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import org.jspecify.annotations.Nullable;

import org.springframework.util.unit.DataSize;

/**
 * What holds for every listener that does not say otherwise.
 *
 * @param delivery the delivery mode
 * @param start where a group starts if it is made now
 * @param concurrency the number of workers of a listener
 * @param batchSize the most events that one read fetches
 * @param batchBytes the most bytes of payload that one read fetches, the first event
 * aside
 * @param eventsPerTransaction how many events a worker handles in one transaction, with
 * exactly-once delivery
 * @param pollInterval the time after which the log is looked at without a wake-up
 * @param retry the retry policy
 * @param idleEventInterval the time without an event after which the application is told
 * that a container is idle, or {@code null} if it is never told
 * @since 0.1.0
 */
public record ListenerDefaults(DeliveryMode delivery, StartPosition start, int concurrency, int batchSize,
		DataSize batchBytes, int eventsPerTransaction, Duration pollInterval, RetryPolicy retry,
		@Nullable Duration idleEventInterval) {

	/** The defaults of the defaults. */
	public static final ListenerDefaults DEFAULT = new ListenerDefaults(DeliveryMode.EXACTLY_ONCE,
			StartPosition.latest(), 1, 500, DataSize.ofMegabytes(8), 1, Duration.ofSeconds(1), RetryPolicy.DEFAULT);

	/**
	 * Checks the numbers.
	 * @throws IllegalArgumentException if one is out of range
	 */
	public ListenerDefaults {
		require(concurrency >= 1, "concurrency", concurrency);
		require(batchSize >= 1, "batch-size", batchSize);
		require(batchBytes.toBytes() >= 1, "batch-bytes", batchBytes);
		require(eventsPerTransaction >= 1, "events-per-transaction", eventsPerTransaction);
		require(pollInterval.toMillis() >= 1, "poll-interval", pollInterval);
		if (idleEventInterval != null) {
			require(idleEventInterval.toMillis() >= 1, "idle-event-interval", idleEventInterval);
		}
	}

	private static void require(boolean condition, String what, Object value) {
		if (!condition) {
			throw new IllegalArgumentException(
					"pgbus.listener." + what + " is " + value + ", but must be more than nothing");
		}
	}

	/**
	 * Creates defaults without an event for idle containers.
	 * @param delivery the delivery mode
	 * @param start where a group starts if it is made now
	 * @param concurrency the number of workers of a listener
	 * @param batchSize the most events that one read fetches
	 * @param batchBytes the most bytes of payload that one read fetches
	 * @param eventsPerTransaction how many events a worker handles in one transaction
	 * @param pollInterval the time after which the log is looked at without a wake-up
	 * @param retry the retry policy
	 */
	public ListenerDefaults(DeliveryMode delivery, StartPosition start, int concurrency, int batchSize,
			DataSize batchBytes, int eventsPerTransaction, Duration pollInterval, RetryPolicy retry) {
		this(delivery, start, concurrency, batchSize, batchBytes, eventsPerTransaction, pollInterval, retry, null);
	}

}
