package io.pgbus.autoconfigure;

import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;

import javax.sql.DataSource;

import io.pgbus.DeliveryMode;
import io.pgbus.EventPublisher;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.listener.ListenerDefaults;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.store.NotificationListener;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.support.JdbcTransactionManager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * An application with several DataSources, one of them marked as the bus's in the manner
 * of Boot's {@code @FlywayDataSource}.
 */
class SeveralDataSourcesIntegrationTests {

	private static final TestDatabase shop = TestDatabase.create();

	private static final TestDatabase events = TestDatabase.create();

	@AfterAll
	static void dropDatabases() {
		shop.close();
		events.close();
	}

	@Test
	void markedDataSourceWinsOverThePrimaryOne() {
		BusApplication.runner().withUserConfiguration(PrimaryAndMarked.class).run((context) -> {
			publishesTo(context, events);
			assertThat(hasBus(shop)).isFalse();
			assertThat(context.getBean(ListenerDefaults.class).delivery()).isEqualTo(DeliveryMode.AT_LEAST_ONCE);
			listens(context);
		});
	}

	@Test
	void exactlyOnceIsRefusedWhereTheBusIsElsewhere() {
		BusApplication.runner().withUserConfiguration(PrimaryAndMarked.class).run((context) -> {
			PgListenerContainerRegistry registry = context.getBean(PgListenerContainerRegistry.class);
			assertThatThrownBy(() -> registry.register(PgListenerEndpoint.id("strict")
				.streams("orders")
				.delivery(DeliveryMode.EXACTLY_ONCE)
				.onEvent(String.class, (event) -> {
				}))).isInstanceOf(IllegalArgumentException.class)
				.hasMessageContaining("\"strict\"")
				.hasMessageContaining("EXACTLY_ONCE")
				.hasMessageContaining("AT_LEAST_ONCE");
		});
		BusApplication.runner()
			.withUserConfiguration(PrimaryAndMarked.class)
			.withBean(Listener.class)
			.withPropertyValues("pgbus.listener.delivery=exactly-once")
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("EXACTLY_ONCE"));
	}

	@Test
	void markedDataSourceThatIsHiddenFromOthersIsFound() {
		ApplicationContextRunner application = BusApplication.on(shop).withUserConfiguration(MarkedAndHidden.class);
		application.run((context) -> {
			publishesTo(context, events);
			assertThat(hasBus(shop)).isFalse();
			assertThat(context.getBean(ListenerDefaults.class).delivery()).isEqualTo(DeliveryMode.AT_LEAST_ONCE);
			// nor does it listen where the other DataSource leads
			listens(context);
			await().until(() -> context.getBean(NotificationListener.class).isListening());
			assertThat(sessions(events)).isOne();
			assertThat(sessions(shop)).isZero();
		});
		application.withUserConfiguration(HiddenTransactionManager.class).run((context) -> {
			assertThat(context.getBean(ListenerDefaults.class).delivery()).isEqualTo(DeliveryMode.EXACTLY_ONCE);
			assertThat(context.getBean(BusTransactions.class).transactionManager())
				.isSameAs(context.getBean("busTransactionManager"));
		});
	}

	@Test
	void markedDataSourceMayBeTheOnlyOne() {
		BusApplication.runner().withUserConfiguration(MarkedAndHidden.class).run((context) -> {
			publishesTo(context, events);
			listens(context);
		});
	}

	private static void publishesTo(ApplicationContext context, TestDatabase database) {
		long id = context.getBean(EventPublisher.class).publish("orders", "hello");
		assertThat(database.jdbc()
			.sql("select count(*) from pgbus.event where id = ?")
			.param(id)
			.query(Long.class)
			.single()).isOne();
	}

	private static long sessions(TestDatabase database) {
		return database.jdbc()
			.sql("select count(*) from pg_stat_activity where datname = ? and application_name = 'pgbus'")
			.param(database.name())
			.query(Long.class)
			.single();
	}

	private static boolean hasBus(TestDatabase database) {
		return database.jdbc().sql("select to_regclass('pgbus.bus') is not null").query(Boolean.class).single();
	}

	private static void listens(ApplicationContext context) {
		List<String> received = new CopyOnWriteArrayList<>();
		String stream = UUID.randomUUID().toString();
		context.getBean(PgListenerContainerRegistry.class)
			.register(PgListenerEndpoint.id("listener")
				.streams(stream)
				.onEvent(String.class, (event) -> received.add(event.payload())));
		context.getBean(EventPublisher.class).publish(stream, "now");
		await().untilAsserted(() -> assertThat(received).containsExactly("now"));
	}

	private static DataSource pool(TestDatabase database) {
		return DataSourceBuilder.create()
			.url(database.jdbcUrl())
			.username(database.username())
			.password(database.password())
			.build();
	}

	@Configuration(proxyBeanMethods = false)
	static class PrimaryAndMarked {

		@Bean
		@Primary
		DataSource shopDataSource() {
			return pool(shop);
		}

		@Bean
		@PgBusDataSource
		DataSource busDataSource() {
			return pool(events);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class MarkedAndHidden {

		@Bean(defaultCandidate = false)
		@PgBusDataSource
		DataSource busDataSource() {
			return pool(events);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class HiddenTransactionManager {

		@Bean(defaultCandidate = false)
		JdbcTransactionManager busTransactionManager(@PgBusDataSource DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

	}

	static class Listener {

		@PgEventListener(streams = "orders", group = "billing")
		void handle(String event) {
		}

	}

}
