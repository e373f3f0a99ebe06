package io.pgbus.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
import io.pgbus.store.SchemaInitializer;
import io.pgbus.store.StreamStore;
import io.pgbus.testing.TestDatabase;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
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

	private final TestDatabase testDatabase = TestDatabase.create();

	private final List<Instance> instances = new ArrayList<>();

	final List<Event<String>> dead = new CopyOnWriteArrayList<>();

	final JdbcClient jdbc = this.testDatabase.jdbc();

	final DataSource dataSource = this.testDatabase.dataSource(20);

	final JdbcTransactionManager transactionManager = new JdbcTransactionManager(this.dataSource);

	final TransactionTemplate transaction = new TransactionTemplate(this.transactionManager);

	TestBus() {
		new SchemaInitializer(new BusDatabase(this.dataSource, "pgbus")).migrate();
	}

	/** Starts an instance of the application. */
	Instance instance() {
		return instance(Duration.ofSeconds(30));
	}

	Instance instance(Duration consumerTimeout) {
		Instance instance = new Instance(consumerTimeout);
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

	ListenerDefaults defaults() {
		return new ListenerDefaults(DeliveryMode.EXACTLY_ONCE, StartPosition.earliest(), 1, 100,
				DataSize.ofMegabytes(8), 1, Duration.ofMillis(100), FAST);
	}

	@Override
	public void close() {
		this.instances.forEach((instance) -> instance.registry.stop());
		this.testDatabase.close();
	}

	/**
	 * One instance of an application.
	 */
	final class Instance {

		final BusConsumer consumer;

		final PgListenerContainerRegistry registry;

		final EventPublisher publisher;

		Instance(Duration consumerTimeout) {
			BusDatabase database = new BusDatabase(TestBus.this.dataSource, "pgbus");
			StreamStore streams = new StreamStore(database, Map.of());
			EventConverter converter = new EventConverter(JsonMapper.builder().build());
			this.consumer = new BusConsumer(new ConsumerStore(database), "test", consumerTimeout,
					defaults().pollInterval(), (id) -> {
					});
			this.publisher = new DefaultEventPublisher(database, new EventStore(database, streams), converter,
					new AnnotationEventTypeResolver(), this.consumer, DataSize.ofMegabytes(16));
			DeadLetterListener deadLetters = (event, group, failure) -> TestBus.this.dead.add(event);
			this.registry = new DefaultPgListenerContainerRegistry(
					new ListenerRuntime(database, new GroupStore(database, streams), converter, this.consumer,
							TestBus.this.transactionManager, null, List.of(deadLetters), false, defaults()));
			this.registry.start();
		}

	}

}
