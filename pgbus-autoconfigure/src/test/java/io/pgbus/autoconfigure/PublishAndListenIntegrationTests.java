package io.pgbus.autoconfigure;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;

import io.pgbus.Event;
import io.pgbus.EventPublisher;
import io.pgbus.EventType;
import io.pgbus.OutgoingEvent;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.data.jpa.autoconfigure.DataJpaRepositoriesAutoConfiguration;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The main job, end to end, in applications as users write them.
 */
class PublishAndListenIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	private final List<ConfigurableApplicationContext> applications = new CopyOnWriteArrayList<>();

	@AfterEach
	void close() {
		this.applications.forEach(ConfigurableApplicationContext::close);
		this.database.close();
	}

	@Test
	void whatIsPublishedInATransactionReachesEveryGroupOnceItIsCommitted() {
		ConfigurableApplicationContext application = start();
		Shop shop = application.getBean(Shop.class);
		EventPublisher publisher = application.getBean(EventPublisher.class);
		TransactionTemplate transaction = new TransactionTemplate(
				application.getBean(PlatformTransactionManager.class));
		transaction.executeWithoutResult((status) -> {
			publisher.publish("orders", "42", new OrderPlaced("42", 3));
			Object savepoint = status.createSavepoint();
			publisher.publish("orders", "43", new OrderPlaced("ghost", 3));
			status.rollbackToSavepoint(savepoint);
		});
		transaction.executeWithoutResult((status) -> {
			publisher.publish("orders", "42", new OrderPlaced("ghost", 3));
			status.setRollbackOnly();
		});
		publisher.publish(OutgoingEvent.to("orders").key("42").header("tenant", "x").payload(new OrderPlaced("42", 4)));
		await().untilAsserted(() -> {
			assertThat(shop.billed).containsExactly(new OrderPlaced("42", 3), new OrderPlaced("42", 4));
			assertThat(shop.audited).hasSize(2);
		});
		assertThat(shop.audited.get(1).headers()).containsEntry("tenant", "x");
	}

	@Test
	void twoInstancesShareAGroupAndOneTakesAllWhenTheOtherCloses() {
		ConfigurableApplicationContext first = start();
		ConfigurableApplicationContext second = start();
		Shop firstShop = first.getBean(Shop.class);
		Shop secondShop = second.getBean(Shop.class);
		EventPublisher publisher = first.getBean(EventPublisher.class);
		await().untilAsserted(() -> {
			publisher.publishAll(orders(0, 100));
			assertThat(firstShop.billed).isNotEmpty();
			assertThat(secondShop.billed).isNotEmpty();
		});
		await().until(() -> firstShop.billed.size() + secondShop.billed.size(), (size) -> size % 100 == 0);
		second.close();
		int before = firstShop.billed.size();
		publisher.publishAll(orders(1000, 200));
		await().untilAsserted(() -> assertThat(firstShop.billed).hasSize(before + 200));
	}

	private static List<OutgoingEvent> orders(int from, int count) {
		return IntStream.range(from, from + count)
			.mapToObj((i) -> OutgoingEvent.to("orders").key("k" + i).payload(new OrderPlaced("k" + i, i)))
			.toList();
	}

	private ConfigurableApplicationContext start() {
		SpringApplication application = new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
			.properties(this.database.springProperties())
			.build();
		ConfigurableApplicationContext context = application.run();
		this.applications.add(context);
		return context;
	}

	@EventType("order.placed")
	record OrderPlaced(String id, int quantity) {
	}

	@SpringBootConfiguration(proxyBeanMethods = false)
	@EnableAutoConfiguration(
			exclude = { HibernateJpaAutoConfiguration.class, DataJpaRepositoriesAutoConfiguration.class })
	@org.springframework.context.annotation.Import(Shop.class)
	static class Application {

	}

	static class Shop {

		final List<OrderPlaced> billed = new CopyOnWriteArrayList<>();

		final List<Event<OrderPlaced>> audited = new CopyOnWriteArrayList<>();

		@PgEventListener(streams = "orders", group = "billing", concurrency = "2")
		void bill(OrderPlaced order) {
			this.billed.add(order);
		}

		@PgEventListener(streams = "orders", group = "audit", start = "earliest", batch = "true")
		void audit(List<Event<OrderPlaced>> events) {
			this.audited.addAll(events);
		}

	}

}
