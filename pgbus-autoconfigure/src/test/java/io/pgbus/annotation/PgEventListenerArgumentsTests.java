package io.pgbus.annotation;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import io.pgbus.BatchListenerFailedException;
import io.pgbus.Event;
import io.pgbus.EventType;
import io.pgbus.UnreadableEventException;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Positive;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.messaging.handler.annotation.support.MethodArgumentNotValidException;
import org.springframework.validation.beanvalidation.LocalValidatorFactoryBean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class PgEventListenerArgumentsTests {

	private ListenerContext context;

	@BeforeEach
	void open() {
		this.context = ListenerContext.of(Listeners.class, LocalValidatorFactoryBean.class);
	}

	@AfterEach
	void close() {
		this.context.close();
	}

	@Test
	void readsARecord() throws Exception {
		assertThat(received("record", "{\"id\":7,\"total\":3}")).containsExactly(new Order(7, 3));
	}

	@Test
	void readsAMap() throws Exception {
		assertThat(received("map", "{\"id\":7}")).containsExactly(Map.of("id", 7));
	}

	@Test
	void readsAJsonNode() throws Exception {
		assertThat(received("json", "{\"id\":7}")).singleElement()
			.satisfies((node) -> assertThat(((JsonNode) node).path("id").intValue()).isEqualTo(7));
	}

	@Test
	void readsAStringFromAJsonStringAndElseItsText() throws Exception {
		assertThat(received("string", "\"text\"", "{\"id\": 7}")).containsExactly("text", "{\"id\": 7}");
	}

	@Test
	void readsAJsonArrayAsAListWhereItIsNoBatch() throws Exception {
		assertThat(received("array", "[{\"id\":1,\"total\":1},{\"id\":2,\"total\":1}]"))
			.containsExactly(List.of(new Order(1, 1), new Order(2, 1)));
	}

	@Test
	void readsAPrimitive() throws Exception {
		assertThat(received("primitive", "42")).containsExactly(42);
	}

	@Test
	@SuppressWarnings("unchecked")
	void givesTheWholeEvent() throws Exception {
		Event<Order> event = (Event<Order>) received("event", "{\"id\":7,\"total\":3}").get(0);
		assertThat(event)
			.isEqualTo(new Event<>(1, "orders", 3, "x", "key", new Order(7, 3), Map.of(), event.publishedAt(), 2));
	}

	@Test
	@SuppressWarnings("unchecked")
	void givesAMessage() throws Exception {
		Message<Order> message = (Message<Order>) received("message", "{\"id\":7,\"total\":3}").get(0);
		assertThat(message.getPayload()).isEqualTo(new Order(7, 3));
		assertThat(message.getHeaders()).containsEntry(PgHeaders.ID, 1L)
			.containsEntry(MessageHeaders.TIMESTAMP, RecordingRegistry.PUBLISHED_AT.toEpochMilli());
	}

	@Test
	void readsThePayloadOnceForTwoParameters() throws Exception {
		List<?> both = (List<?>) received("both", "{\"id\":7,\"total\":3}").get(0);
		assertThat(((Event<?>) both.get(1)).payload()).isSameAs(both.get(0));
		List<?> open = (List<?>) received("open", "{\"id\":7,\"total\":3}").get(1);
		assertThat(((Event<?>) open.get(1)).payload()).isSameAs(open.get(0));
	}

	@Test
	void givesHeadersOfTheEventAndOfTheBus() throws Exception {
		deliver("headers", "{}", Map.of("tenant", "x", "number", "12"));
		assertThat(values())
			.containsExactly(List.of("x", 12L, 1L, "orders", 3, "x", "key", RecordingRegistry.PUBLISHED_AT, 2, "none"));
	}

	@Test
	@SuppressWarnings("unchecked")
	void givesAllHeaders() throws Exception {
		deliver("all-headers", "{}", Map.of("tenant", "x"));
		assertThat((Map<String, Object>) values().get(0)).hasSize(9)
			.containsEntry("tenant", "x")
			.containsEntry(PgHeaders.KEY, "key");
	}

	@Test
	void failsForGoodWhereAHeaderIsMissing() {
		assertThatExceptionOfType(UnreadableEventException.class)
			.isThrownBy(() -> deliver("headers", "{}", Map.of("number", "12")))
			.withMessageContaining("parameter 1 of " + Listeners.class.getName() + ".headers(")
			.withMessageContaining("tenant");
	}

	@Test
	void failsForGoodWhereAHeaderDoesNotFit() {
		assertThatExceptionOfType(UnreadableEventException.class)
			.isThrownBy(() -> deliver("headers", "{}", Map.of("tenant", "x", "number", "many")))
			.withMessageContaining("parameter 2 of");
	}

	@Test
	void failsForGoodWhereThePayloadDoesNotFit() {
		assertThatExceptionOfType(UnreadableEventException.class).isThrownBy(() -> received("record", "[1]"))
			.withMessageContaining("The payload of event 1 of type \"x\"");
	}

	@Test
	void validatesThePayloadWhereTheParameterAsksForIt() throws Exception {
		assertThatExceptionOfType(UnreadableEventException.class)
			.isThrownBy(() -> received("valid", "{\"id\":7,\"total\":-1}"))
			.withMessageContaining("is not valid: total must be greater than 0")
			.havingCause()
			.isInstanceOf(MethodArgumentNotValidException.class)
			.satisfies((ex) -> assertThat(((MethodArgumentNotValidException) ex).getBindingResult().getFieldError())
				.isNotNull());
		assertThat(received("valid", "{\"id\":7,\"total\":1}")).hasSize(1);
		assertThat(received("record", "{\"id\":7,\"total\":-1}")).hasSize(2);
	}

	@Test
	void validatesEachPayloadOfABatchAndTheOneInAnEvent() {
		assertThatExceptionOfType(BatchListenerFailedException.class)
			.isThrownBy(() -> received("valid-batch", "{\"id\":7,\"total\":1}", "{\"id\":8,\"total\":-1}"))
			.satisfies((ex) -> assertThat(ex.getIndex()).isEqualTo(1))
			.havingCause()
			.withMessageContaining("event 2");
		assertThatExceptionOfType(UnreadableEventException.class)
			.isThrownBy(() -> received("valid-event", "{\"id\":7,\"total\":-1}"));
	}

	@Test
	void validatesWhereTheAnnotationIsOnATypeArgument() {
		assertThatExceptionOfType(BatchListenerFailedException.class)
			.isThrownBy(() -> received("valid-elements", "{\"id\":7,\"total\":1}", "{\"id\":8,\"total\":-1}"))
			.satisfies((ex) -> assertThat(ex.getIndex()).isEqualTo(1))
			.havingCause()
			.withMessageContaining("event 2");
		assertThatExceptionOfType(UnreadableEventException.class)
			.isThrownBy(() -> received("valid-array", "[{\"id\":7,\"total\":1},{\"id\":8,\"total\":-1}]"))
			.withMessageContaining("total must be greater than 0");
	}

	@Test
	void failsForGoodWhereThePayloadIsNullUnlessThereIsAnObjectForIt() throws Exception {
		assertThatExceptionOfType(UnreadableEventException.class).isThrownBy(() -> received("record", "null"));
		assertThat(received("optional", "null")).last().isEqualTo(Optional.empty());
		assertThat(received("json", "null")).last()
			.satisfies((node) -> assertThat(((JsonNode) node).isNull()).isTrue());
	}

	@Test
	void tellsWhichEventOfABatchDoesNotFit() {
		assertThatExceptionOfType(BatchListenerFailedException.class)
			.isThrownBy(() -> received("batch", "{\"id\":1,\"total\":1}", "[1]"))
			.satisfies((ex) -> assertThat(ex.getIndex()).isEqualTo(1))
			.withCauseInstanceOf(UnreadableEventException.class);
	}

	@Test
	void givesABatchAsListsOfPayloadsEventsAndMessages() throws Exception {
		List<?> all = (List<?>) received("batch", "{\"id\":1,\"total\":1}", "{\"id\":2,\"total\":1}").get(0);
		assertThat((List<?>) all.get(0)).isEqualTo(List.of(new Order(1, 1), new Order(2, 1)));
		assertThat((List<?>) all.get(1)).extracting((event) -> ((Event<?>) event).id()).isEqualTo(List.of(1L, 2L));
		assertThat((List<?>) all.get(2)).extracting((message) -> ((Message<?>) message).getPayload())
			.isEqualTo(all.get(0));
		assertThat(this.context.registry().endpoint("batch").batch()).isTrue();
	}

	@Test
	void receivesOnlyTheTypeThatThePayloadClassNames() {
		RecordingRegistry registry = this.context.registry();
		assertThat(registry.endpoint("typed").types()).containsExactly("order.placed");
		assertThat(registry.endpoint("typed-event").types()).containsExactly("order.placed");
		assertThat(registry.endpoint("typed-batch").types()).containsExactly("order.placed");
		assertThat(registry.endpoint("typed-otherwise").types()).containsExactly("order.moved");
		assertThat(registry.endpoint("record").types()).isNull();
	}

	@Test
	void needsNoPayload() throws Exception {
		assertThat(received("no-payload", "not even JSON")).containsExactly(1L);
	}

	private List<Object> received(String id, String... payloads) throws Exception {
		if (this.context.registry().endpoint(id).batch()) {
			this.context.registry().deliver(id, "x", payloads);
		}
		else {
			for (String payload : payloads) {
				this.context.registry().deliver(id, "x", payload);
			}
		}
		return values();
	}

	private void deliver(String id, String payload, Map<String, String> headers) throws Exception {
		RecordingRegistry registry = this.context.registry();
		registry.deliver(id, List.of(registry.event("x", payload, headers)));
	}

	private List<Object> values() {
		return this.context.bean(Listeners.class).values;
	}

	record Order(long id, @Positive int total) {
	}

	@EventType("order.placed")
	record OrderPlaced(long id) {
	}

	static class Listeners extends ListenerContext.Received {

		@PgEventListener(streams = "orders", group = "record")
		void record(Order order) {
			add(order);
		}

		@PgEventListener(streams = "orders", group = "map")
		void map(Map<String, Object> order) {
			add(order);
		}

		@PgEventListener(streams = "orders", group = "json")
		void json(JsonNode order) {
			add(order);
		}

		@PgEventListener(streams = "orders", group = "string")
		void string(@Payload String order) {
			add(order);
		}

		@PgEventListener(streams = "orders", group = "array")
		void array(List<Order> orders) {
			add(orders);
		}

		@PgEventListener(streams = "orders", group = "primitive")
		void primitive(int number) {
			add(number);
		}

		@PgEventListener(streams = "orders", group = "event")
		void event(Event<Order> event) {
			add(event);
		}

		@PgEventListener(streams = "orders", group = "message")
		void message(Message<Order> message) {
			add(message);
		}

		@PgEventListener(streams = "orders", group = "both")
		void both(Order order, Event<Order> event) {
			add(order, event);
		}

		@PgEventListener(streams = "orders", group = "open")
		void open(Order order, Event<?> event) {
			add(order, event);
		}

		@PgEventListener(streams = "orders", group = "headers")
		void headers(@Header String tenant, @Header("number") long number, @Header(PgHeaders.ID) long id,
				@Header(PgHeaders.STREAM) String stream, @Header(PgHeaders.PARTITION) int partition,
				@Header(PgHeaders.TYPE) String type, @Header(PgHeaders.KEY) String key,
				@Header(PgHeaders.PUBLISHED_AT) Instant publishedAt, @Header(PgHeaders.ATTEMPT) int attempt,
				@Header(name = "other", defaultValue = "none") String other) {
			add(tenant, number, id, stream, partition, type, key, publishedAt, attempt, other);
		}

		@PgEventListener(streams = "orders", group = "all-headers")
		void allHeaders(@Headers Map<String, Object> headers) {
			add(headers);
		}

		@PgEventListener(streams = "orders", group = "valid")
		void valid(@Valid Order order) {
			add(order);
		}

		@PgEventListener(streams = "orders", group = "valid-batch", batch = "true")
		void validBatch(@Valid List<Order> orders) {
			add(orders);
		}

		@PgEventListener(streams = "orders", group = "valid-event")
		void validEvent(@Valid Event<Order> order) {
			add(order);
		}

		@PgEventListener(streams = "orders", group = "valid-elements", batch = "true")
		void validElements(List<Event<@Valid Order>> orders) {
			add(orders);
		}

		@PgEventListener(streams = "orders", group = "valid-array")
		void validArray(List<@Valid Order> orders) {
			add(orders);
		}

		@PgEventListener(streams = "orders", group = "optional")
		void optional(Optional<Order> order) {
			add(order);
		}

		@PgEventListener(streams = "orders", group = "batch", batch = "true")
		void batch(List<Order> orders, List<Event<Order>> events, List<Message<Order>> messages) {
			add(orders, events, messages);
		}

		@PgEventListener(streams = "orders", group = "typed")
		void typed(OrderPlaced order) {
		}

		@PgEventListener(streams = "orders", group = "typed-event")
		void typedEvent(Event<OrderPlaced> order) {
		}

		@PgEventListener(streams = "orders", group = "typed-batch", batch = "true")
		void typedBatch(List<Event<OrderPlaced>> orders) {
		}

		@PgEventListener(streams = "orders", group = "typed-otherwise", types = "order.moved")
		void typedOtherwise(OrderPlaced order) {
		}

		@PgEventListener(streams = "orders", group = "no-payload")
		void noPayload(@Header(PgHeaders.ID) long id) {
			add(id);
		}

	}

}
