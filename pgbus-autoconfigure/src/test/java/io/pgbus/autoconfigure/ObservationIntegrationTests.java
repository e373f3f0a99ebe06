package io.pgbus.autoconfigure;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import io.pgbus.Event;
import io.pgbus.EventType;
import io.pgbus.InvalidEventException;
import io.pgbus.OutgoingEvent;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.core.DefaultEventPublisherObservationConvention;
import io.pgbus.listener.DefaultPgListenerObservationConvention;
import io.pgbus.listener.EventReceiverContext;
import io.pgbus.listener.EventReceiverContext.Outcome;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * The observations of publishers and listeners, and what handlers find in the MDC.
 */
class ObservationIntegrationTests {

	private ObservedApplication application;

	@AfterEach
	void close() {
		this.application.close();
	}

	@Test
	void publishingIsObserved() {
		start();
		long id = this.application.publisher()
			.publish(OutgoingEvent.to("s").key("k").type("t").header("tenant", "x").payload(1));
		TestObservationRegistryAssert.assertThat(registry())
			.hasObservationWithNameEqualTo("pgbus.publish")
			.that()
			.hasContextualNameEqualTo("s publish")
			.hasLowCardinalityKeyValue("stream", "s")
			.hasLowCardinalityKeyValue("outcome", "success")
			.hasHighCardinalityKeyValue("pgbus.events", "1")
			.hasHighCardinalityKeyValue("pgbus.event.id", String.valueOf(id))
			.hasHighCardinalityKeyValue("pgbus.event.key", "k")
			.hasHighCardinalityKeyValue("pgbus.event.type", "t")
			.hasBeenStopped()
			.doesNotHaveError();
	}

	@Test
	void manyEventsArePublishedInOneObservation() {
		start();
		List<Long> ids = this.application.publisher()
			.publishAll(List.of(OutgoingEvent.to("s").key("a").payload(1), OutgoingEvent.to("s").key("b").payload(2)));
		TestObservationRegistryAssert.assertThat(registry())
			.hasNumberOfObservationsWithNameEqualTo("pgbus.publish", 1)
			.hasObservationWithNameEqualTo("pgbus.publish")
			.that()
			.hasHighCardinalityKeyValue("pgbus.events", "2")
			.hasHighCardinalityKeyValue("pgbus.event.id", ids.get(0) + ".." + ids.get(1))
			.hasHighCardinalityKeyValue("pgbus.event.key", "several")
			.doesNotHaveHighCardinalityKeyValueWithKey("pgbus.event.type");
	}

	@Test
	void whatIsNotPublishedIsObservedAsFailure() {
		start();
		assertThatExceptionOfType(InvalidEventException.class)
			.isThrownBy(() -> this.application.publisher().publish("s", Map.of("text", "\0")));
		TestObservationRegistryAssert.assertThat(registry())
			.hasObservationWithNameEqualTo("pgbus.publish")
			.that()
			.hasLowCardinalityKeyValue("outcome", "failure")
			.hasError();
	}

	@Test
	void everyCallOfAHandlerIsObservedWithWhatItThrew() {
		start(Handlers.class);
		this.application.publisher().publish("s", "k", new Placed("fails once"));
		await().untilAsserted(() -> assertThat(handles()).hasSize(2));
		assertThat(handles().get(0)).satisfies((context) -> {
			assertThat(low(context)).containsExactlyInAnyOrderEntriesOf(
					Map.of("stream", "s", "group", "g", "listener", "l", "type", "placed", "outcome", "failure"));
			assertThat(context.getContextualName()).isEqualTo("s handle");
			assertThat(context.getError()).isInstanceOf(IllegalStateException.class).hasMessage("fails once");
			assertThat(context.getHighCardinalityKeyValue("pgbus.attempt").getValue()).isEqualTo("1");
			assertThat(context.getHighCardinalityKeyValue("pgbus.event.key").getValue()).isEqualTo("k");
			assertThat(context.getHighCardinalityKeyValue("pgbus.event.id").getValue())
				.isEqualTo(String.valueOf(context.events().get(0).id()));
		});
		assertThat(handles().get(1)).satisfies((context) -> {
			assertThat(low(context)).containsEntry("outcome", "success");
			assertThat(context.getError()).isNull();
			assertThat(context.getHighCardinalityKeyValue("pgbus.attempt").getValue()).isEqualTo("2");
		});
	}

	@Test
	void aCommitThatFailsIsAFailureOfTheHandler() {
		start(Handlers.class);
		JdbcClient.create(this.application.database.dataSource())
			.sql("create table effect (n integer primary key, fk integer references effect deferrable initially deferred)")
			.update();
		this.application.publisher().publish("s", new Placed("fails at commit"));
		await().untilAsserted(() -> assertThat(handles()).hasSize(3));
		assertThat(handles()).allSatisfy((context) -> {
			assertThat(context.outcome()).isEqualTo(Outcome.FAILURE);
			assertThat(context.getError()).hasMessageContaining("effect_fk_fkey");
		});
	}

	@Test
	void eachCallIsObservedByItselfWhereATransactionHasSeveralEvents() {
		start(List.of(Handlers.class), "pgbus.listener.events-per-transaction=5");
		this.application.publisher()
			.publishAll(List.of(OutgoingEvent.to("s").key("k").payload(new Placed("a")),
					OutgoingEvent.to("s").key("k").payload(new Placed("b"))));
		await().untilAsserted(() -> assertThat(handles()).hasSize(2));
		assertThat(handles()).allSatisfy((context) -> assertThat(context.events()).hasSize(1));
	}

	@Test
	void listsAreObservedAsOneWithTheSameTags() {
		start(ListHandlers.class);
		this.application.publisher()
			.publishAll(List.of(OutgoingEvent.to("s").key("k").type("a").payload(1),
					OutgoingEvent.to("s").key("k").type("b").payload(2)));
		await().untilAsserted(() -> assertThat(handles()).hasSize(1));
		EventReceiverContext context = handles().get(0);
		assertThat(low(context)).containsExactlyInAnyOrderEntriesOf(
				Map.of("stream", "s", "group", "lists", "listener", "lists", "type", "any", "outcome", "success"));
		assertThat(context.getHighCardinalityKeyValue("pgbus.events").getValue()).isEqualTo("2");
		assertThat(context.getHighCardinalityKeyValue("pgbus.event.type").getValue()).isEqualTo("several");
		assertThat(context.getCarrier()).isEmpty();
	}

	@Test
	void handlersFindGroupStreamAndEventInTheMdc() {
		start(Handlers.class);
		Handlers handlers = this.application.bean(Handlers.class);
		long id = this.application.publisher().publish("s", new Placed("a"));
		await().untilAsserted(() -> assertThat(handlers.mdc).hasSize(1));
		assertThat(handlers.mdc.get(0)).containsEntry("pgbus.group", "g")
			.containsEntry("pgbus.stream", "s")
			.containsEntry("pgbus.event", String.valueOf(id));
	}

	@Test
	void beansReplaceTheConventions() {
		start(Handlers.class, Conventions.class);
		this.application.publisher().publish("s", new Placed("a"));
		TestObservationRegistryAssert.assertThat(registry())
			.hasObservationWithNameEqualTo("my.publish")
			.that()
			.hasLowCardinalityKeyValue("stream", "s");
		await().untilAsserted(() -> assertThat(handles()).hasSize(1));
		assertThat(low(handles().get(0))).containsEntry("tenant", "x").containsEntry("group", "g");
	}

	private void start(Class<?>... beans) {
		start(List.of(beans));
	}

	private void start(List<Class<?>> beans, String... properties) {
		List<Class<?>> all = new java.util.ArrayList<>(beans);
		all.add(Registry.class);
		this.application = ObservedApplication.start(all, properties);
	}

	private TestObservationRegistry registry() {
		return this.application.bean(TestObservationRegistry.class);
	}

	/** The calls of handlers that have ended. */
	private List<EventReceiverContext> handles() {
		return this.application.bean(Registry.class).handles;
	}

	private static Map<String, String> low(Observation.Context context) {
		Map<String, String> values = new HashMap<>();
		context.getLowCardinalityKeyValues().forEach((value) -> values.put(value.getKey(), value.getValue()));
		return values;
	}

	@EventType("placed")
	record Placed(String text) {
	}

	static class Registry {

		final List<EventReceiverContext> handles = new CopyOnWriteArrayList<>();

		@Bean
		ObservationRegistry observationRegistry() {
			return TestObservationRegistry.create();
		}

		@Bean
		ObservationHandler<EventReceiverContext> handles() {
			return new ObservationHandler<>() {

				@Override
				public void onStop(EventReceiverContext context) {
					Registry.this.handles.add(context);
				}

				@Override
				public boolean supportsContext(Observation.Context context) {
					return context instanceof EventReceiverContext;
				}

			};
		}

	}

	static class Conventions {

		@Bean
		DefaultEventPublisherObservationConvention publisherConvention() {
			return new DefaultEventPublisherObservationConvention() {

				@Override
				public String getName() {
					return "my.publish";
				}

			};
		}

		@Bean
		DefaultPgListenerObservationConvention listenerConvention() {
			return new DefaultPgListenerObservationConvention() {

				@Override
				public KeyValues getLowCardinalityKeyValues(EventReceiverContext context) {
					return super.getLowCardinalityKeyValues(context).and("tenant", "x");
				}

			};
		}

	}

	static class Handlers {

		final List<Map<String, String>> mdc = new CopyOnWriteArrayList<>();

		@Autowired
		private javax.sql.DataSource dataSource;

		@PgEventListener(id = "l", streams = "s", group = "g")
		void handle(Event<Placed> event) {
			this.mdc.add(MDC.getCopyOfContextMap());
			if (event.payload().text().equals("fails once") && event.attempt() == 1) {
				throw new IllegalStateException("fails once");
			}
			if (event.payload().text().equals("fails at commit")) {
				JdbcClient.create(this.dataSource).sql("insert into effect values (1, 2)").update();
			}
		}

	}

	static class ListHandlers {

		@PgEventListener(streams = "s", group = "lists", batch = "true")
		void handle(List<Event<Integer>> events) {
		}

	}

}
