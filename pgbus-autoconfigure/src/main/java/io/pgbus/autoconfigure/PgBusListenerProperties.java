package io.pgbus.autoconfigure;

import java.time.Duration;

import io.pgbus.DeliveryMode;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.listener.ListenerDefaults;
import org.jspecify.annotations.Nullable;

import org.springframework.util.unit.DataSize;

/**
 * Properties of listeners.
 *
 * @since 0.1.0
 */
public class PgBusListenerProperties {

	/**
	 * Consumer group of listeners that name none.
	 */
	private @Nullable String group;

	/**
	 * Whether listeners start with the application, unless they say otherwise.
	 */
	private boolean autoStartup = true;

	/**
	 * Delivery mode. By default exactly-once where the bus uses the application's own
	 * DataSource, at-least-once elsewhere.
	 */
	private @Nullable DeliveryMode delivery;

	/**
	 * Where a group starts that is made now: latest, earliest, an ISO-8601 instant, or an
	 * event id.
	 */
	private String start = "latest";

	/**
	 * Number of workers of a listener.
	 */
	private int concurrency = ListenerDefaults.DEFAULT.concurrency();

	/**
	 * Most events that one read fetches, and a batch listener is given.
	 */
	private int batchSize = ListenerDefaults.DEFAULT.batchSize();

	/**
	 * Most payload that one read fetches, the first event aside.
	 */
	private DataSize batchBytes = ListenerDefaults.DEFAULT.batchBytes();

	/**
	 * How many events a worker handles in one transaction, with exactly-once delivery.
	 */
	private int eventsPerTransaction = ListenerDefaults.DEFAULT.eventsPerTransaction();

	/**
	 * Time after which the log is looked at without a wake-up.
	 */
	private Duration pollInterval = ListenerDefaults.DEFAULT.pollInterval();

	/**
	 * Time without an event after which an application event tells that a listener is
	 * idle. By default none does.
	 */
	private @Nullable Duration idleEventInterval;

	private final Retry retry = new Retry();

	private final DeadLetter deadLetter = new DeadLetter();

	public @Nullable String getGroup() {
		return this.group;
	}

	public void setGroup(@Nullable String group) {
		this.group = group;
	}

	public boolean isAutoStartup() {
		return this.autoStartup;
	}

	public void setAutoStartup(boolean autoStartup) {
		this.autoStartup = autoStartup;
	}

	public @Nullable DeliveryMode getDelivery() {
		return this.delivery;
	}

	public void setDelivery(@Nullable DeliveryMode delivery) {
		this.delivery = delivery;
	}

	public String getStart() {
		return this.start;
	}

	public void setStart(String start) {
		this.start = start;
	}

	public int getConcurrency() {
		return this.concurrency;
	}

	public void setConcurrency(int concurrency) {
		this.concurrency = concurrency;
	}

	public int getBatchSize() {
		return this.batchSize;
	}

	public void setBatchSize(int batchSize) {
		this.batchSize = batchSize;
	}

	public DataSize getBatchBytes() {
		return this.batchBytes;
	}

	public void setBatchBytes(DataSize batchBytes) {
		this.batchBytes = batchBytes;
	}

	public int getEventsPerTransaction() {
		return this.eventsPerTransaction;
	}

	public void setEventsPerTransaction(int eventsPerTransaction) {
		this.eventsPerTransaction = eventsPerTransaction;
	}

	public Duration getPollInterval() {
		return this.pollInterval;
	}

	public void setPollInterval(Duration pollInterval) {
		this.pollInterval = pollInterval;
	}

	public @Nullable Duration getIdleEventInterval() {
		return this.idleEventInterval;
	}

	public void setIdleEventInterval(@Nullable Duration idleEventInterval) {
		this.idleEventInterval = idleEventInterval;
	}

	public Retry getRetry() {
		return this.retry;
	}

	public DeadLetter getDeadLetter() {
		return this.deadLetter;
	}

	ListenerDefaults toDefaults(DeliveryMode deliveryByDefault, RetryPolicy retryPolicy) {
		return new ListenerDefaults((this.delivery != null) ? this.delivery : deliveryByDefault,
				StartPosition.parse(this.start), this.concurrency, this.batchSize, this.batchBytes,
				this.eventsPerTransaction, this.pollInterval, retryPolicy, this.idleEventInterval);
	}

	/**
	 * How events whose handler failed are tried again.
	 */
	public static class Retry {

		/**
		 * Most attempts, the first delivery included.
		 */
		private int attempts = RetryPolicy.DEFAULT.attempts();

		/**
		 * Time from the first failure to the second attempt.
		 */
		private Duration backOff = RetryPolicy.DEFAULT.backOff();

		/**
		 * What each later wait is longer by.
		 */
		private double multiplier = RetryPolicy.DEFAULT.multiplier();

		/**
		 * Longest wait between two attempts.
		 */
		private Duration maxBackOff = RetryPolicy.DEFAULT.maxBackOff();

		/**
		 * Part of a wait that is random, from 0 to 1.
		 */
		private double jitter = RetryPolicy.DEFAULT.jitter();

		public int getAttempts() {
			return this.attempts;
		}

		public void setAttempts(int attempts) {
			this.attempts = attempts;
		}

		public Duration getBackOff() {
			return this.backOff;
		}

		public void setBackOff(Duration backOff) {
			this.backOff = backOff;
		}

		public double getMultiplier() {
			return this.multiplier;
		}

		public void setMultiplier(double multiplier) {
			this.multiplier = multiplier;
		}

		public Duration getMaxBackOff() {
			return this.maxBackOff;
		}

		public void setMaxBackOff(Duration maxBackOff) {
			this.maxBackOff = maxBackOff;
		}

		public double getJitter() {
			return this.jitter;
		}

		public void setJitter(double jitter) {
			this.jitter = jitter;
		}

	}

	/**
	 * Events that are dead: not tried again.
	 */
	public static class DeadLetter {

		/**
		 * What becomes of later events with the key of a dead one.
		 */
		private RetryPolicy.OnDead onDead = RetryPolicy.DEFAULT.onDead();

		public RetryPolicy.OnDead getOnDead() {
			return this.onDead;
		}

		public void setOnDead(RetryPolicy.OnDead onDead) {
			this.onDead = onDead;
		}

	}

}
