package io.pgbus.autoconfigure;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.pgbus.DeliveryMode;
import io.pgbus.EventPublisher;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.testing.TestDatabase;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Application contexts as Boot makes them of what an application usually has.
 */
final class BusApplication {

	private BusApplication() {
	}

	/** An application without a DataSource, unless its beans are one. */
	static ApplicationContextRunner runner() {
		return new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(JacksonAutoConfiguration.class,
				DataSourceTransactionManagerAutoConfiguration.class, JdbcTemplateAutoConfiguration.class,
				JdbcClientAutoConfiguration.class, TransactionAutoConfiguration.class, PgBusAutoConfiguration.class,
				PgBusListenerAutoConfiguration.class, PgBusNotificationAutoConfiguration.class,
				PgBusCaptureAutoConfiguration.class, PgBusDataSourceAutoConfiguration.class,
				PgBusOutboxAutoConfiguration.class));
	}

	/** An application whose DataSource is this database, with a schema of its own. */
	static ApplicationContextRunner on(TestDatabase database, String schema) {
		return runner().withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
			.withPropertyValues(database.springProperties())
			.withPropertyValues("spring.datasource.hikari.minimum-idle=0", "pgbus.schema.name=" + schema);
	}

	static ApplicationContextRunner on(TestDatabase database) {
		return on(database, "pgbus");
	}

	/** An application whose data is in one database and whose bus is in another. */
	static ApplicationContextRunner on(TestDatabase data, TestDatabase bus) {
		return on(data).withPropertyValues("pgbus.datasource.url=" + bus.jdbcUrl(),
				"pgbus.datasource.username=" + bus.username(), "pgbus.datasource.password=" + bus.password(),
				"pgbus.datasource.hikari.minimum-idle=0", "pgbus.datasource.hikari.maximum-pool-size=6");
	}

	static AutoConfigurations flyway() {
		return AutoConfigurations.of(FlywayAutoConfiguration.class);
	}

	static AutoConfigurations jpa() {
		return AutoConfigurations.of(HibernateJpaAutoConfiguration.class);
	}

	/** Publishes to a stream of its own, and hears of it in both modes of delivery. */
	static void publishAndListen(ApplicationContext context, int events) {
		PgListenerContainerRegistry registry = context.getBean(PgListenerContainerRegistry.class);
		EventPublisher publisher = context.getBean(EventPublisher.class);
		String stream = "stream-" + UUID.randomUUID();
		Map<DeliveryMode, Set<Integer>> received = new EnumMap<>(DeliveryMode.class);
		for (DeliveryMode delivery : DeliveryMode.values()) {
			Set<Integer> own = ConcurrentHashMap.newKeySet();
			received.put(delivery, own);
			registry.register(PgListenerEndpoint.id(delivery + "-" + stream)
				.streams(stream)
				.delivery(delivery)
				.concurrency(2)
				.onEvent(Integer.class, (event) -> {
					assertThat(own.add(event.payload())).as("Delivered once").isTrue();
					publisher.publish("echo-" + stream, event.payload());
				}));
		}
		Set<Integer> numbers = IntStream.range(0, events).boxed().collect(Collectors.toSet());
		numbers.forEach((number) -> publisher.publish(stream, "k" + number % 20, number));
		await()
			.untilAsserted(() -> assertThat(received.values()).allSatisfy((own) -> assertThat(own).isEqualTo(numbers)));
		for (DeliveryMode delivery : DeliveryMode.values()) {
			registry.unregister(delivery + "-" + stream);
		}
	}

	/** The names of the bus's threads that run at this time. */
	static List<String> busThreads() {
		Thread[] threads = new Thread[Thread.activeCount() + 100];
		int count = Thread.enumerate(threads);
		return Arrays.stream(threads, 0, count)
			.map(Thread::getName)
			.filter((name) -> name.startsWith("pgbus-"))
			.toList();
	}

}
