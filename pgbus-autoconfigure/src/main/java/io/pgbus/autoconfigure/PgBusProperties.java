package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

import io.pgbus.DeliveryMode;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.core.DefaultEventPublisher;
import io.pgbus.listener.BusConsumer;
import io.pgbus.listener.DefaultConsumerGroupOperations;
import io.pgbus.listener.ListenerDefaults;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.Notifier;
import io.pgbus.store.StreamStore;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.util.unit.DataSize;

/**
 * Properties of the bus.
 *
 * @since 0.1.0
 */
@ConfigurationProperties("pgbus")
public class PgBusProperties {

	/**
	 * Whether the bus is set up.
	 */
	private boolean enabled = true;

	private final Schema schema = new Schema();

	/**
	 * Streams to make at start-up, by name, each with its number of partitions (8 by
	 * default), which cannot be changed later: pgbus.streams.orders.partitions=16. A name
	 * that is not made of a-z, 0-9 and dashes stands in brackets:
	 * pgbus.streams.[order.events].partitions=16. Other streams are made on first use.
	 */
	private final Map<String, Stream> streams = new LinkedHashMap<>();

	private final Publisher publisher = new Publisher();

	private final Consumer consumer = new Consumer();

	private final Notifications notifications = new Notifications();

	private final Listener listener = new Listener();

	public boolean isEnabled() {
		return this.enabled;
	}

	public void setEnabled(boolean enabled) {
		this.enabled = enabled;
	}

	public Schema getSchema() {
		return this.schema;
	}

	public Map<String, Stream> getStreams() {
		return this.streams;
	}

	public Publisher getPublisher() {
		return this.publisher;
	}

	public Consumer getConsumer() {
		return this.consumer;
	}

	public Notifications getNotifications() {
		return this.notifications;
	}

	public Listener getListener() {
		return this.listener;
	}

	/**
	 * The bus's schema in the database.
	 */
	public static class Schema {

		/**
		 * Name of the schema that holds the bus's tables.
		 */
		private String name = BusDatabase.DEFAULT_SCHEMA;

		/**
		 * Whether the application makes and migrates the schema, or only checks its
		 * version.
		 */
		private Initialize initialize = Initialize.ALWAYS;

		public String getName() {
			return this.name;
		}

		public void setName(String name) {
			this.name = name;
		}

		public Initialize getInitialize() {
			return this.initialize;
		}

		public void setInitialize(Initialize initialize) {
			this.initialize = initialize;
		}

		/**
		 * Who makes the schema.
		 */
		public enum Initialize {

			/** The application makes and migrates the schema at start-up. */
			ALWAYS,

			/** Someone else does; the application checks the version at start-up. */
			NEVER

		}

	}

	/**
	 * A stream.
	 */
	public static class Stream {

		/**
		 * Number of partitions, which cannot be changed later.
		 */
		private int partitions = StreamStore.DEFAULT_PARTITIONS;

		public int getPartitions() {
			return this.partitions;
		}

		public void setPartitions(int partitions) {
			this.partitions = partitions;
		}

	}

	/**
	 * Publishing.
	 */
	public static class Publisher {

		/**
		 * Most bytes that a payload may have as JSON.
		 */
		private DataSize maxPayload = DefaultEventPublisher.DEFAULT_MAX_PAYLOAD;

		public DataSize getMaxPayload() {
			return this.maxPayload;
		}

		public void setMaxPayload(DataSize maxPayload) {
			this.maxPayload = maxPayload;
		}

	}

	/**
	 * This application instance as other instances see it.
	 */
	public static class Consumer {

		/**
		 * Name of this instance for people to read. By default the application's name,
		 * the host's and the process id.
		 */
		private @Nullable String name;

		/**
		 * Silence after which other instances take this one for dead and take over what
		 * it holds. A process that is gone is noticed at once.
		 */
		private Duration timeout = BusConsumer.DEFAULT_TIMEOUT;

		/**
		 * Silence after which a consumer that reads by ConsumerGroupOperations is taken
		 * for dead and what it holds is given to others.
		 */
		private Duration pullTimeout = DefaultConsumerGroupOperations.DEFAULT_PULL_TIMEOUT;

		public @Nullable String getName() {
			return this.name;
		}

		public void setName(@Nullable String name) {
			this.name = name;
		}

		public Duration getTimeout() {
			return this.timeout;
		}

		public void setTimeout(Duration timeout) {
			this.timeout = timeout;
		}

		public Duration getPullTimeout() {
			return this.pullTimeout;
		}

		public void setPullTimeout(Duration pullTimeout) {
			this.pullTimeout = pullTimeout;
		}

	}

	/**
	 * Wake-ups between instances, by LISTEN and NOTIFY.
	 */
	public static class Notifications {

		/**
		 * Whether instances wake each other. Without it they find events by polling.
		 */
		private boolean enabled = true;

		/**
		 * JDBC URL to listen on, if the DataSource goes through a pooler that does not
		 * keep sessions. By default that of the DataSource.
		 */
		private @Nullable String url;

		/**
		 * User to listen as. By default that of the DataSource.
		 */
		private @Nullable String username;

		/**
		 * Password of the user to listen as. By default that of the DataSource.
		 */
		private @Nullable String password;

		/**
		 * Least time between two notifications of this instance.
		 */
		private Duration interval = Notifier.DEFAULT_INTERVAL;

		public boolean isEnabled() {
			return this.enabled;
		}

		public void setEnabled(boolean enabled) {
			this.enabled = enabled;
		}

		public @Nullable String getUrl() {
			return this.url;
		}

		public void setUrl(@Nullable String url) {
			this.url = url;
		}

		public @Nullable String getUsername() {
			return this.username;
		}

		public void setUsername(@Nullable String username) {
			this.username = username;
		}

		public @Nullable String getPassword() {
			return this.password;
		}

		public void setPassword(@Nullable String password) {
			this.password = password;
		}

		public Duration getInterval() {
			return this.interval;
		}

		public void setInterval(Duration interval) {
			this.interval = interval;
		}

	}

	/**
	 * Defaults of listeners.
	 */
	public static class Listener {

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
		 * Where a group starts that is made now: latest, earliest, an ISO-8601 instant,
		 * or an event id.
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
		 * How many events a worker handles in one transaction, with exactly-once
		 * delivery.
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
