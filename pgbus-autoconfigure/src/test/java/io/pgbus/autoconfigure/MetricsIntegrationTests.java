package io.pgbus.autoconfigure;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import javax.sql.DataSource;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.pgbus.Event;
import io.pgbus.EventErrorHandler.Decision;
import io.pgbus.EventErrorHandler;
import io.pgbus.OutgoingEvent;
import io.pgbus.actuate.GroupGauges;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.core.PublisherMetrics;
import io.pgbus.listener.ListenerMetrics;
import io.pgbus.listener.PgListenerContainerRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The meters of an application with Spring Boot's registry.
 */
class MetricsIntegrationTests {

	private ObservedApplication application;

	@AfterEach
	void close() {
		this.application.close();
	}

	@Test
	void eventsAreCountedAndTimed() {
		start(Handlers.class);
		publish("good");
		publish("bad once");
		this.application.publisher()
			.publishAll(List.of(OutgoingEvent.to("s").payload("good"), OutgoingEvent.to("s").payload("good")));
		awaitCount(4, "pgbus.handled", "stream", "s", "group", "g");
		assertThat(count("pgbus.published", "stream", "s")).isEqualTo(4);
		assertThat(count("pgbus.failed", "stream", "s", "group", "g", "outcome", "retrying")).isEqualTo(1);
		// the one that was retried is not among them
		assertThat(count("pgbus.delivery.delay", "stream", "s", "group", "g")).isEqualTo(3);
		assertThat(count("pgbus.handle", "group", "g", "outcome", "success")).isEqualTo(4);
		assertThat(count("pgbus.handle", "group", "g", "outcome", "failure")).isEqualTo(1);
		assertThat(count("pgbus.publish", "stream", "s", "outcome", "success")).isEqualTo(3);
		assertThat(count("pgbus.wakeups", "group", "g", "cause", "publish")).isEqualTo(3);
		awaitCount(2, "pgbus.claim", "group", "g", "result", "claimed");
		awaitCount(1, "pgbus.claim", "group", "g", "result", "nothing");
	}

	@Test
	void whatIsRolledBackIsNotPublished() {
		start();
		TransactionTemplate transaction = new TransactionTemplate(
				this.application.bean(PlatformTransactionManager.class));
		transaction.executeWithoutResult((status) -> {
			publish("good");
			assertThat(registry().find("pgbus.published").counter()).isNull();
			status.setRollbackOnly();
		});
		assertThat(registry().find("pgbus.published").counter()).isNull();
		transaction.executeWithoutResult((status) -> publish("good"));
		assertThat(count("pgbus.published", "stream", "s")).isEqualTo(1);
	}

	@Test
	void deadAndDiscardedEventsAreCounted() {
		start(Handlers.class);
		publish("bad for good");
		awaitCount(1, "pgbus.failed", "outcome", "dead");
		assertThat(count("pgbus.failed", "outcome", "retrying")).isEqualTo(2);
		publish("discarded");
		awaitCount(1, "pgbus.failed", "outcome", "discarded");
	}

	@Test
	void listsHaveTheTagsOfSingleEvents() {
		start(Handlers.class, ListHandlers.class);
		this.application.publisher()
			.publishAll(List.of(OutgoingEvent.to("s").key("k").payload("good"),
					OutgoingEvent.to("s").key("k").payload("good")));
		awaitCount(2, "pgbus.handled", "group", "g");
		awaitCount(2, "pgbus.handled", "group", "lists");
		awaitCount(2, "pgbus.delivery.delay", "group", "lists");
		for (Meter meter : registry().getMeters()) {
			String name = meter.getId().getName();
			if (name.startsWith("pgbus.")) {
				assertThat(keys(meter)).as(name).isEqualTo(keys(registry().get(name).meters().iterator().next()));
			}
		}
	}

	@Test
	void anEventIsNotCountedAsHandledBeforeItsTransactionIs() {
		start(List.of(Handlers.class), "pgbus.listener.events-per-transaction=10");
		this.application.publisher()
			.publishAll(List.of(OutgoingEvent.to("s").key("k").payload("good"),
					OutgoingEvent.to("s").key("k").payload("bad once")));
		awaitCount(2, "pgbus.handled", "group", "g");
		// the first one was called twice, as the second one had it rolled back
		assertThat(count("pgbus.handle", "group", "g", "outcome", "success")).isEqualTo(3);
	}

	@Test
	void gaugesOfGroupsFollowThemAndCostOneQueryInAnInterval() {
		start(List.of(Handlers.class, CountingDataSources.class), "pgbus.metrics.gauge-interval=1h");
		AtomicInteger queries = this.application.bean(CountingDataSources.class).queries;
		JdbcClient jdbc = JdbcClient.create(this.application.database.dataSource());
		this.application.bean(PgListenerContainerRegistry.class).stop();
		publish("good");
		publish("good");
		jdbc.sql("insert into pgbus.failed_event (cursor_id, event_id, type, state, holds_key) "
				+ "select min(c.id), 1, 't', 'dead', false from pgbus.cursor c")
			.update();
		assertThat(queries).hasValue(0);
		assertThat(gauge("pgbus.groups")).isEqualTo(1);
		assertThat(gauge("pgbus.lag", "group", "g")).isEqualTo(2);
		assertThat(gauge("pgbus.oldest.age", "group", "g")).isPositive();
		assertThat(gauge("pgbus.failures", "group", "g", "state", "dead")).isEqualTo(1);
		assertThat(gauge("pgbus.failures", "group", "g", "state", "held")).isZero();
		assertThat(gauge("pgbus.failures", "group", "g", "state", "retrying")).isZero();
		assertThat(queries).hasValue(1);
	}

	@Test
	void gaugesOfGroupsAppearAndDisappearWithThem() {
		start(List.of(Handlers.class), "pgbus.metrics.gauge-interval=0");
		JdbcClient jdbc = JdbcClient.create(this.application.database.dataSource());
		jdbc.sql("insert into pgbus.consumer_group (name) values ('other')").update();
		assertThat(gauge("pgbus.groups")).isEqualTo(2);
		assertThat(gauge("pgbus.lag", "group", "other")).isZero();
		assertThat(gauge("pgbus.oldest.age", "group", "other")).isZero();
		jdbc.sql("delete from pgbus.consumer_group where name = 'other'").update();
		assertThat(gauge("pgbus.groups")).isEqualTo(1);
		assertThat(registry().find("pgbus.lag").tag("group", "other").gauge()).isNull();
		assertThat(registry().find("pgbus.failures").tag("group", "other").gauges()).isEmpty();
	}

	@Test
	void gaugesShowNothingWhileTheDatabaseCannotBeRead() {
		start(List.of(Handlers.class), "pgbus.metrics.gauge-interval=0");
		JdbcClient jdbc = JdbcClient.create(this.application.database.dataSource());
		assertThat(gauge("pgbus.groups")).isEqualTo(1);
		jdbc.sql("alter view pgbus.group_status rename to away").update();
		assertThat(gauge("pgbus.groups")).isNaN();
		assertThat(gauge("pgbus.lag", "group", "g")).isNaN();
		jdbc.sql("alter view pgbus.away rename to group_status").update();
		assertThat(gauge("pgbus.lag", "group", "g")).isZero();
	}

	@Test
	void segmentsOfTheLogAreCounted() {
		start(List.of(), "pgbus.retention.interval=10ms");
		await().untilAsserted(() -> assertThat(gauge("pgbus.segments")).isEqualTo(2));
		for (String name : List.of("pgbus.retention.dropped", "pgbus.retention.deleted", "pgbus.retention.unread")) {
			assertThat(registry().get(name).functionCounter().count()).isZero();
		}
	}

	@Test
	void metricsCanBeSwitchedOff() {
		start(List.of(Handlers.class), "pgbus.metrics.enabled=false");
		assertThat(this.application.bean(Beans.class).of(PublisherMetrics.class)).isNull();
		assertThat(this.application.bean(Beans.class).of(ListenerMetrics.class)).isNull();
		assertThat(this.application.bean(Beans.class).of(GroupGauges.class)).isNull();
	}

	private void start(Class<?>... beans) {
		start(List.of(beans));
	}

	private void start(List<Class<?>> beans, String... properties) {
		List<Class<?>> all = new java.util.ArrayList<>(beans);
		all.add(Beans.class);
		this.application = ObservedApplication.start(all, properties);
	}

	private void publish(String payload) {
		this.application.publisher().publish("s", payload);
	}

	private MeterRegistry registry() {
		return this.application.bean(MeterRegistry.class);
	}

	private void awaitCount(double atLeast, String name, String... tags) {
		await().untilAsserted(() -> assertThat(count(name, tags)).isGreaterThanOrEqualTo(atLeast));
	}

	private double count(String name, String... tags) {
		double count = 0;
		for (Meter meter : registry().find(name).tags(tags).meters()) {
			count += meter.measure().iterator().next().getValue();
		}
		return count;
	}

	private double gauge(String name, String... tags) {
		return registry().get(name).tags(tags).gauge().value();
	}

	private static List<String> keys(Meter meter) {
		return meter.getId().getTags().stream().map(Tag::getKey).toList();
	}

	static class Beans {

		@org.springframework.beans.factory.annotation.Autowired
		private org.springframework.beans.factory.BeanFactory beanFactory;

		<T> T of(Class<T> type) {
			ObjectProvider<T> provider = this.beanFactory.getBeanProvider(type);
			return provider.getIfAvailable();
		}

	}

	static class Handlers {

		@PgEventListener(streams = "s", group = "g")
		void handle(Event<String> event) {
			if (event.payload().equals("discarded") || event.payload().equals("bad for good")
					|| event.payload().equals("bad once") && event.attempt() == 1) {
				throw new IllegalStateException(event.payload());
			}
		}

		@Bean
		EventErrorHandler errorHandler() {
			return (event, group, failure) -> failure.getMessage().equals("discarded") ? Decision.DISCARD
					: Decision.RETRY;
		}

	}

	static class ListHandlers {

		@PgEventListener(streams = "s", group = "lists", batch = "true")
		void handle(List<String> payloads) {
		}

	}

	/**
	 * Counts the queries of gauges.
	 */
	static class CountingDataSources implements BeanPostProcessor {

		final AtomicInteger queries = new AtomicInteger();

		@Override
		public Object postProcessAfterInitialization(Object bean, String name) {
			return (bean instanceof DataSource dataSource) ? new DelegatingDataSource(dataSource) {

				@Override
				public Connection getConnection() throws SQLException {
					return counting(super.getConnection());
				}

			} : bean;
		}

		private Connection counting(Connection connection) {
			return (Connection) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { Connection.class },
					(proxy, method, arguments) -> {
						if (method.getName().equals("prepareStatement")
								&& arguments[0].toString().contains("lag_seconds")) {
							this.queries.incrementAndGet();
						}
						try {
							return method.invoke(connection, arguments);
						}
						catch (InvocationTargetException ex) {
							throw ex.getTargetException();
						}
					});
		}

	}

}
