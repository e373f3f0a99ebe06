package io.pgbus.autoconfigure;

import io.pgbus.EventPublisher;
import io.pgbus.EventTypeResolver;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.Notifier;
import io.pgbus.store.SchemaInitializer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.assertArg;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;

/**
 * What the auto-configuration leaves to the application's own beans, and what it does not
 * do unless there are listeners.
 */
@ExtendWith(OutputCaptureExtension.class)
class PgBusBackOffIntegrationTests {

	private static final TestDatabase database = TestDatabase.create();

	@AfterAll
	static void dropDatabase() {
		database.close();
	}

	@Test
	void applicationThatOnlyPublishesIsNoConsumerAndListensToNothing() {
		BusApplication.on(database, "only_publishes").run((context) -> {
			long id = context.getBean(EventPublisher.class).publish("orders", "hello");
			assertThat(id).isPositive();
			// events of other instances are of no interest to it
			JdbcClient jdbc = context.getBean(JdbcClient.class);
			assertThat(jdbc.sql("select count(*) from only_publishes.consumer").query(Long.class).single()).isZero();
			assertThat(jdbc.sql(
					"select count(*) from pg_stat_activity where datname = current_database() and query ilike 'listen%'")
				.query(Long.class)
				.single()).isZero();
			assertThat(context.getBean(NotificationListener.class).isListening()).isFalse();
			assertThat(BusApplication.busThreads()).doesNotContain("pgbus-poll", "pgbus-listen");
		});
		assertThat(BusApplication.busThreads()).isEmpty();
	}

	@Test
	void withoutNotificationsThereIsNeitherNotifierNorListener() {
		BusApplication.on(database)
			.withPropertyValues("pgbus.notifications.enabled=false")
			.run((context) -> assertThat(context).hasSingleBean(EventPublisher.class)
				.doesNotHaveBean(Notifier.class)
				.doesNotHaveBean(NotificationListener.class));
	}

	@Test
	void ownPublisherTakesThePlaceOfTheBuss() {
		EventPublisher own = mock(EventPublisher.class);
		BusApplication.on(database)
			.withBean("ownPublisher", EventPublisher.class, () -> own)
			.run((context) -> assertThat(context.getBean(EventPublisher.class)).isSameAs(own));
	}

	@Test
	void ownTypeResolverNamesTheTypes() {
		BusApplication.on(database, "own_types")
			.withBean(EventTypeResolver.class, () -> (type) -> "own." + type.getSimpleName())
			.run((context) -> {
				context.getBean(EventPublisher.class).publish("orders", "hello");
				assertThat(context.getBean(JdbcClient.class)
					.sql("select type from own_types.event")
					.query(String.class)
					.list()).containsExactly("own.String");
			});
	}

	@Test
	void ownDatabaseBringsItsOwnSchema() {
		BusDatabase own = new BusDatabase(database.dataSource(), "own_database");
		new SchemaInitializer(own).migrate();
		BusApplication.on(database, "unused").withBean("ownDatabase", BusDatabase.class, () -> own).run((context) -> {
			assertThat(context.getBean(BusDatabase.class)).isSameAs(own);
			context.getBean(EventPublisher.class).publish("orders", "hello");
			JdbcClient jdbc = database.jdbc();
			assertThat(jdbc.sql("select count(*) from own_database.event").query(Long.class).single()).isOne();
			assertThat(jdbc.sql("select to_regnamespace('unused') is null").query(Boolean.class).single()).isTrue();
		});
	}

	@Test
	void ownRegistryIsGivenTheListeners() {
		PgListenerContainerRegistry own = mock(PgListenerContainerRegistry.class);
		BusApplication.on(database)
			.withBean("ownRegistry", PgListenerContainerRegistry.class, () -> own)
			.withBean(Listener.class)
			.run((context) -> {
				assertThat(context).hasSingleBean(PgListenerContainerRegistry.class);
				verify(own).register(assertArg((endpoint) -> assertThat(endpoint.group()).isEqualTo("billing")));
			});
	}

	@Test
	void aListenerMakesAConsumerThatIsGoneWithTheApplication() {
		String count = "select count(*) from with_listener.consumer";
		BusApplication.on(database, "with_listener")
			.withBean(Listener.class)
			.withPropertyValues("spring.application.name=shop")
			.run((context) -> {
				assertThat(nameOfConsumer(context)).startsWith("shop@");
				assertThat(BusApplication.busThreads()).contains("pgbus-poll", "pgbus-listen");
			});
		assertThat(database.jdbc().sql(count).query(Long.class).single()).isZero();
		assertThat(BusApplication.busThreads()).isEmpty();
	}

	@Test
	void longPollIntervalDoesNotKeepTheHeartbeatWaiting(CapturedOutput output) {
		BusApplication.on(database, "long_poll")
			.withBean(Listener.class)
			.withPropertyValues("pgbus.listener.poll-interval=1h", "pgbus.consumer.timeout=200ms")
			.run((context) -> {
				JdbcClient jdbc = context.getBean(JdbcClient.class);
				await().untilAsserted(() -> assertThat(jdbc
					.sql("select bool_and(heartbeat_at > started_at + interval '1 second') from long_poll.consumer")
					.query(Boolean.class)
					.single()).isTrue());
			});
		assertThat(output).doesNotContain("taken for dead");
	}

	private static String nameOfConsumer(ApplicationContext context) {
		return context.getBean(JdbcClient.class)
			.sql("select name from with_listener.consumer")
			.query(String.class)
			.single();
	}

	static class Listener {

		@PgEventListener(streams = "orders", group = "billing")
		void handle(String event) {
		}

	}

}
