package io.pgbus.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

import javax.sql.DataSource;

import io.pgbus.DeadLetterListener;
import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.EventPublisher;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.core.AnnotationEventTypeResolver;
import io.pgbus.core.DefaultEventPublisher;
import io.pgbus.core.EventConverter;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.ConsumerStore;
import io.pgbus.store.EventStore;
import io.pgbus.store.GroupStore;
import io.pgbus.store.NotificationConnectionFactory;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.NotificationReceiver;
import io.pgbus.store.SchemaInitializer;
import io.pgbus.store.StreamStore;
import io.pgbus.testing.TestDatabase;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.unit.DataSize;

/**
 * A bus on a database of its own, with one or more instances of an application, without
 * Spring Boot.
 */
final class TestBus implements AutoCloseable {

	/** Retries come at once. */
	static final RetryPolicy FAST = new RetryPolicy(3, Duration.ofMillis(1), 1, Duration.ofMillis(1), 0,
			RetryPolicy.DEFAULT.notRetried(), RetryPolicy.OnDead.CONTINUE);

	final TestDatabase testDatabase;

	private final List<Instance> instances = new ArrayList<>();

	final List<Event<String>> dead = new CopyOnWriteArrayList<>();

	final DataSource dataSource;

	final JdbcClient jdbc;

	final JdbcTransactionManager transactionManager;

	final TransactionTemplate transaction;

	/** Of its own within another, such as a handler's. */
	final TransactionTemplate apart;

	/** What instances that are made from now on do by default. */
	ListenerDefaults defaults = new ListenerDefaults(DeliveryMode.EXACTLY_ONCE, StartPosition.earliest(), 1, 100,
			DataSize.ofMegabytes(8), 1, Duration.ofMillis(100), FAST);

	/** Also sees every death, before it gets into the list of the dead. */
	DeadLetterListener deadLetterListener = (event, group, failure) -> {
	};

	/** Whether instances that are made from now on have a connection that listens. */
	boolean listens;

	/** Partitions by stream, where they are not the default. */
	Map<String, Integer> partitions = Map.of();

	TestBus() {
		this(TestDatabase.create());
	}

	TestBus(TestDatabase testDatabase) {
		this.testDatabase = testDatabase;
		this.dataSource = testDatabase.dataSource(20);
		this.jdbc = testDatabase.jdbc();
		this.transactionManager = new JdbcTransactionManager(this.dataSource);
		this.transaction = new TransactionTemplate(this.transactionManager);
		this.apart = new TransactionTemplate(this.transactionManager);
		this.apart.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		new SchemaInitializer(new BusDatabase(this.dataSource, "pgbus")).migrate();
	}

	/** Starts an instance of the application. */
	Instance instance() {
		return instance(Duration.ofSeconds(30));
	}

	Instance instance(Duration consumerTimeout) {
		return instance(consumerTimeout, this.dataSource);
	}

	/** Starts an instance that has a pool of its own. */
	Instance instance(Duration consumerTimeout, DataSource dataSource) {
		Instance instance = new Instance(consumerTimeout, dataSource);
		this.instances.add(instance);
		return instance;
	}

	/**
	 * Does something in the caller's transaction that the handler's outcome decides
	 * about.
	 */
	void jdbcIn(int n) {
		JdbcClient.create(this.dataSource)
			.sql("insert into effect values (:n, nullif(:n, 2) + 1000)")
			.param("n", n)
			.update();
	}

	/** Says how many events are read, and handled in one transaction. */
	void batches(int batchSize, int eventsPerTransaction) {
		this.defaults = new ListenerDefaults(this.defaults.delivery(), this.defaults.start(), 1, batchSize,
				this.defaults.batchBytes(), eventsPerTransaction, this.defaults.pollInterval(), this.defaults.retry());
	}

	List<Map<String, Object>> failedEvents() {
		return this.jdbc.sql("select * from pgbus.failed_event order by ordinal").query().listOfRows();
	}

	@Override
	public void close() {
		this.instances.forEach(Instance::close);
		this.testDatabase.close();
	}

	/**
	 * One instance of an application.
	 */
	final class Instance {

		final BusConsumer consumer;

		final PgListenerContainerRegistry registry;

		final EventPublisher publisher;

		private final @Nullable NotificationListener notifications;

		Instance(Duration consumerTimeout, DataSource dataSource) {
			BusDatabase database = new BusDatabase(dataSource, "pgbus");
			StreamStore streams = new StreamStore(database, TestBus.this.partitions);
			EventConverter converter = new EventConverter(JsonMapper.builder().build());
			this.consumer = new BusConsumer(new ConsumerStore(database), "test", consumerTimeout,
					TestBus.this.defaults.pollInterval(), this::registered);
			this.notifications = TestBus.this.listens ? new NotificationListener(database,
					NotificationConnectionFactory.of(TestBus.this.testDatabase.jdbcUrl(),
							TestBus.this.testDatabase.username(), TestBus.this.testDatabase.password()),
					new IgnoringReceiver(), "pgbus-listen") : null;
			this.publisher = new DefaultEventPublisher(database, new EventStore(database, streams), converter,
					new AnnotationEventTypeResolver(), this.consumer, DataSize.ofMegabytes(16));
			DeadLetterListener deadLetters = (event, group, failure) -> TestBus.this.dead.add(event);
			DeadLetterListener first = TestBus.this.deadLetterListener;
			this.registry = new DefaultPgListenerContainerRegistry(new ListenerRuntime(database,
					new GroupStore(database, streams), converter, this.consumer, new JdbcTransactionManager(dataSource),
					null, List.of(first, deadLetters), false, TestBus.this.defaults));
			this.registry.start();
		}

		private void registered(int id) {
			if (this.notifications != null) {
				this.notifications.start(id);
			}
		}

		private void close() {
			this.registry.stop();
			if (this.notifications != null) {
				this.notifications.close();
			}
		}

	}

	/**
	 * Leaves it to polling.
	 */
	private static final class IgnoringReceiver implements NotificationReceiver {

		@Override
		public void published(Set<Integer> streamIds) {
		}

		@Override
		public void publishedToAny() {
		}

	}

}
