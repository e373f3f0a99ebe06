package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.EventPublisher;
import io.pgbus.OutgoingEvent;
import io.pgbus.PgBusException;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.actuate.OutboxMeters;
import io.pgbus.actuate.Overview;
import io.pgbus.actuate.PgBusEndpoint;
import io.pgbus.actuate.PgBusHealthIndicator;
import io.pgbus.listener.ListenerDefaults;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerContainer;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.OwnServer.StopMode;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Applications whose data is in one database and whose bus is in another.
 */
class OutboxIntegrationTests {

	private final TestDatabase shop = TestDatabase.create();

	private final TestDatabase stock = TestDatabase.create();

	private final TestDatabase bus = TestDatabase.create();

	@AfterEach
	void dropDatabases() {
		this.shop.close();
		this.stock.close();
		this.bus.close();
	}

	@Test
	void whatIsPublishedInATransactionIsCarriedIfThatIsCommitted() {
		BusApplication.on(this.shop, this.bus).run((context) -> {
			EventPublisher publisher = context.getBean(EventPublisher.class);
			List<Event<String>> received = listen(context, "orders");
			TransactionTemplate transaction = transaction(context);
			transaction.executeWithoutResult((status) -> {
				publisher.publish("orders", "k", "rolled back");
				status.setRollbackOnly();
			});
			transaction.executeWithoutResult((status) -> publisher
				.publish(new OutgoingEvent("orders", "k", "note", Map.of("color", "red"), "committed")));
			publisher.publish("orders", "alone");
			await().untilAsserted(() -> assertThat(received).extracting(Event::payload)
				.containsExactlyInAnyOrder("committed", "alone"));
			Event<String> event = received.stream()
				.filter((each) -> "committed".equals(each.payload()))
				.findFirst()
				.orElseThrow();
			assertThat(event.key()).isEqualTo("k");
			assertThat(event.type()).isEqualTo("note");
			assertThat(event.headers()).containsEntry("color", "red");
			// the outbox keeps nothing that has been carried, the bus does
			await().untilAsserted(() -> assertThat(
					this.shop.jdbc().sql("select count(*) from pgbus_outbox.event").query(Long.class).single())
				.isZero());
			assertThat(this.bus.jdbc()
				.sql("select count(*) from pgbus.stream where retention is not null")
				.query(Long.class)
				.single()).isZero();
		});
	}

	@Test
	void streamsThatAreNewAndEventsFromSqlAreCarriedToo() {
		BusApplication.on(this.shop, this.bus).run((context) -> {
			EventPublisher publisher = context.getBean(EventPublisher.class);
			List<Event<String>> received = listen(context, "a", "b", "c");
			publisher.publish("a", "1");
			await().untilAsserted(() -> assertThat(received).hasSize(1));
			publisher.publish("b", "2");
			await().untilAsserted(() -> assertThat(received).hasSize(2));
			this.shop.jdbc().sql("select pgbus_outbox.publish('c', 'k', 't', '\"3\"')").query(Long.class).single();
			await().untilAsserted(() -> assertThat(received).extracting(Event::payload).containsExactly("1", "2", "3"));
		});
	}

	@Test
	void severalApplicationsShareOneBusAndKeepTheOrderOfTheirKeys() {
		BusApplication.on(this.shop, this.bus)
			.withPropertyValues("pgbus.streams.orders.partitions=3")
			.run((first) -> BusApplication.on(this.stock, this.bus)
				.withPropertyValues("pgbus.outbox.batch-size=7", "pgbus.streams.orders.partitions=3")
				.run((second) -> {
					List<Event<String>> received = listen(second, "orders");
					IntStream.range(0, 200).forEach((number) -> {
						first.getBean(EventPublisher.class)
							.publish("orders", "shop" + number % 5, String.valueOf(number));
						second.getBean(EventPublisher.class)
							.publish("orders", "stock" + number % 5, String.valueOf(number));
					});
					await().untilAsserted(() -> assertThat(received).hasSize(400));
					for (String key : List.of("shop0", "shop4", "stock0", "stock4")) {
						assertThat(received).filteredOn((event) -> key.equals(event.key()))
							.extracting((event) -> Integer.parseInt(event.payload()))
							.hasSize(40)
							.isSorted();
					}
				}));
	}

	@Test
	void effectsInTheApplicationsDatabaseAreExactlyOnceByDefault() {
		this.shop.jdbc().sql("create table effect (number int)").update();
		BusApplication.on(this.shop, this.bus)
			.withPropertyValues("pgbus.listener.events-per-transaction=3")
			.run((context) -> {
				assertThat(context.getBean(ListenerDefaults.class).delivery()).isEqualTo(DeliveryMode.EXACTLY_ONCE);
				JdbcClient jdbc = JdbcClient.create(context.getBean(DataSource.class));
				context.getBean(PgListenerContainerRegistry.class)
					.register(PgListenerEndpoint.id("effects")
						.streams("numbers")
						.start(StartPosition.earliest())
						.concurrency(2)
						.retry(new RetryPolicy(5, Duration.ofMillis(1), 1, Duration.ofMillis(1), 0, Set.of(),
								RetryPolicy.OnDead.CONTINUE))
						.onEvent(Integer.class, (event) -> {
							jdbc.sql("insert into effect values (?)").param(event.payload()).update();
							if (event.payload() % 10 == 3 && event.attempt() < 3) {
								throw new IllegalStateException("Not yet");
							}
						}));
				EventPublisher publisher = context.getBean(EventPublisher.class);
				IntStream.range(0, 100).forEach((number) -> publisher.publish("numbers", "k" + number % 7, number));
				await().untilAsserted(() -> assertThat(numbers()).hasSize(100).doesNotHaveDuplicates());
				// the failures are removed after the effects
				await().untilAsserted(() -> assertThat(
						this.bus.jdbc().sql("select count(*) from pgbus.failed_event").query(Long.class).single())
					.isZero());
				await().untilAsserted(() -> assertThat(this.shop.jdbc()
					.sql("select count(*) from pgbus_outbox.inbox_entry where failure > 0")
					.query(Long.class)
					.single()).isZero());
			});
	}

	@Test
	void publishingGoesOnWhileTheBusIsDownAndWhatWaitsIsShown() {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of())) {
			BusApplication.on(this.shop, server.createDatabase())
				.withConfiguration(AutoConfigurations.of(PgBusEndpointAutoConfiguration.class,
						PgBusHealthContributorAutoConfiguration.class, PgBusMetricsAutoConfiguration.class))
				.withBean(SimpleMeterRegistry.class)
				.withPropertyValues("management.endpoints.web.exposure.include=pgbus",
						"pgbus.metrics.gauge-interval=1ms", "pgbus.datasource.hikari.connection-timeout=1000",
						"pgbus.datasource.hikari.validation-timeout=500")
				.run((context) -> {
					EventPublisher publisher = context.getBean(EventPublisher.class);
					PgBusEndpoint endpoint = context.getBean(PgBusEndpoint.class);
					OutboxMeters meters = context.getBean(OutboxMeters.class);
					MeterRegistry registry = context.getBean(MeterRegistry.class);
					meters.bindTo(registry);
					List<Event<String>> received = listen(context, "orders");
					publisher.publish("orders", "k", "before");
					await().untilAsserted(() -> assertThat(received).hasSize(1));
					assertThat(endpoint.overview().outbox().busFailure()).isNull();
					server.stop(StopMode.IMMEDIATE);
					IntStream.range(0, 30).forEach((number) -> publisher.publish("orders", "k", "meanwhile"));
					Overview overview = endpoint.overview();
					assertThat(overview.outbox().estimatedLag()).isEqualTo(30);
					assertThat(overview.outbox().busFailure()).isNotNull();
					assertThat(overview.groups()).isEmpty();
					assertThat(registry.get("pgbus.outbox.lag").gauge().value()).isEqualTo(30);
					assertThat(registry.get("pgbus.outbox.oldest.age").gauge().value()).isPositive();
					await().untilAsserted(() -> {
						Health health = context.getBean(PgBusHealthIndicator.class).health();
						assertThat(health.getStatus()).isEqualTo(Status.DOWN);
						assertThat(health.getDetails()).containsEntry("outbox", PgListenerContainer.State.BACKING_OFF)
							.containsEntry("outboxLag", 30L);
					});
					server.start();
					await().atMost(Duration.ofMinutes(1)).untilAsserted(() -> assertThat(received).hasSize(31));
					await().untilAsserted(() -> assertThat(endpoint.overview().outbox().estimatedLag()).isZero());
					// not one of them has spent an attempt
					assertThat(this.shop.jdbc()
						.sql("select count(*) from pgbus_outbox.failed_event")
						.query(Long.class)
						.single()).isZero();
				});
		}
	}

	@Test
	void outboxAndBusMustNotBeTheSame() {
		BusApplication.on(this.shop, this.shop)
			.withPropertyValues("pgbus.outbox.schema=pgbus")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("pgbus.outbox.enabled=false"));
		BusApplication.on(this.shop)
			.withPropertyValues("pgbus.outbox.enabled=true")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("needs no outbox"));
	}

	@Test
	void whereTheOutboxIsToBeMustBeKnown() {
		BusApplication.on(this.shop, this.bus)
			.withBean("other", DataSource.class, this.stock::dataSource)
			.withBean("another", DataSource.class, this.stock::dataSource)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("where the outbox is to be")
				.hasMessageContaining("pgbus.outbox.enabled=false"));
	}

	@Test
	void outboxMayBeInTheBusesDatabaseUnderAnotherName() {
		BusApplication.on(this.shop, this.shop).run((context) -> {
			List<Event<String>> received = listen(context, "orders");
			context.getBean(EventPublisher.class).publish("orders", "hello");
			await().untilAsserted(() -> assertThat(received).hasSize(1));
		});
	}

	@Test
	void withoutAnOutboxEventsArePublishedAtOnce() {
		BusApplication.on(this.shop, this.bus).withPropertyValues("pgbus.outbox.enabled=false").run((context) -> {
			assertThat(context).doesNotHaveBean(OutboxRelay.class);
			assertThat(context.getBean(ListenerDefaults.class).delivery()).isEqualTo(DeliveryMode.AT_LEAST_ONCE);
			long id = context.getBean(EventPublisher.class).publish("orders", "hello");
			assertThat(this.bus.jdbc()
				.sql("select count(*) from pgbus.event where id = ?")
				.param(id)
				.query(Long.class)
				.single()).isOne();
			assertThat(context.getBean("pgBusDataSource", HikariDataSource.class).getMaximumPoolSize()).isEqualTo(6);
		});
	}

	private List<Integer> numbers() {
		return this.shop.jdbc().sql("select number from effect").query(Integer.class).list();
	}

	private static List<Event<String>> listen(ApplicationContext context, String... streams) {
		List<Event<String>> received = new CopyOnWriteArrayList<>();
		context.getBean(PgListenerContainerRegistry.class)
			.register(PgListenerEndpoint.id("listener")
				.streams(streams)
				.start(StartPosition.earliest())
				.onEvent(String.class, received::add));
		return received;
	}

	private static TransactionTemplate transaction(ApplicationContext context) {
		return new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
	}

}
