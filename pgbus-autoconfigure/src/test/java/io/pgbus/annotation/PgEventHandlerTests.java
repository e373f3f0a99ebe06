package io.pgbus.annotation;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import io.pgbus.Event;
import io.pgbus.EventType;
import io.pgbus.TableChange;
import org.junit.jupiter.api.Test;

import org.springframework.messaging.handler.annotation.Header;

import static io.pgbus.annotation.PgEventListenerAttributesTests.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

class PgEventHandlerTests {

	@Test
	void choosesTheMethodByTheTypeOfTheEvent() throws Exception {
		try (ListenerContext context = ListenerContext.of(WithoutDefault.class)) {
			assertThat(context.registry().endpoint("billing").types()).containsExactlyInAnyOrder("order.placed",
					"Cancelled");
			context.registry().deliver("billing", "Cancelled", "{\"reason\":\"late\"}");
			context.registry().deliver("billing", "order.placed", "{\"id\":7}");
			assertThat(context.bean(WithoutDefault.class).values).containsExactly(new Cancelled("late"),
					new OrderPlaced(7));
		}
	}

	@Test
	void passesOverOtherTypesWithoutDefaultMethod() {
		try (ListenerContext context = ListenerContext.of(WithoutDefault.class)) {
			assertThatIllegalStateException().isThrownBy(() -> context.registry().deliver("billing", "other", "{}"))
				.withMessageContaining("no method for events of type \"other\"");
		}
	}

	@Test
	void givesOtherTypesToTheDefaultMethod() throws Exception {
		try (ListenerContext context = ListenerContext.of(WithDefault.class)) {
			assertThat(context.registry().endpoint("billing").types()).isNull();
			context.registry().deliver("billing", "other", "{\"a\":1}");
			context.registry().deliver("billing", "order.placed", "{\"id\":7}");
			assertThat(context.bean(WithDefault.class).values).containsExactly(Map.of("a", 1), new OrderPlaced(7));
		}
	}

	@Test
	void limitsTheTypesToThoseOfTheAnnotation() {
		try (ListenerContext context = ListenerContext.of(Limited.class)) {
			assertThat(context.registry().endpoint("billing").types()).containsExactly("order.placed");
		}
	}

	@Test
	void makesAListenerOfEachAnnotationOfTheClass() {
		try (ListenerContext context = ListenerContext.of(Repeated.class)) {
			assertThat(context.registry().ids()).containsExactlyInAnyOrder("billing", "shipping", "method");
		}
	}

	@Test
	void isAsynchronousIfOneOfTheMethodsIs() throws Exception {
		try (ListenerContext context = ListenerContext.of(Asynchronous.class)) {
			assertThat(context.registry().endpoint("billing").asynchronous()).isTrue();
			assertThat(context.registry().deliver("billing", "order.placed", "{\"id\":7}")).isNull();
			assertThat(context.registry().deliver("billing", "Cancelled", "{}")).isNotNull();
		}
	}

	@Test
	void refusesTwoMethodsForOneType() {
		assertRefused(TwoForOneType.class, "TwoForOneType has two methods for the same events",
				"TwoForOneType.one(OrderPlaced)", "TwoForOneType.two(Event)");
	}

	@Test
	void refusesTwoDefaultMethods() {
		assertRefused(TwoDefaults.class, "TwoDefaults has two methods for the same events", "isDefault = true of one.");
	}

	@Test
	void refusesABatch() {
		assertRefused(Batch.class, "Batch has batch = \"true\"", "Annotate a method that takes lists");
	}

	@Test
	void refusesAClassWithoutMethods() {
		assertRefused(WithoutMethods.class, "WithoutMethods has @PgEventListener, but no method with @PgEventHandler");
	}

	@Test
	void refusesMethodsInAClassThatIsNoListener() {
		assertRefused(WithoutListener.class, "WithoutListener has a method with @PgEventHandler",
				"has no @PgEventListener");
	}

	@Test
	void refusesAMethodThatNoTypeChooses() {
		assertRefused(OpenPayload.class, "OpenPayload.on(Map) has a payload of type java.util.Map", "isDefault = true");
		assertRefused(Change.class, "Change.on(TableChange) takes a TableChange", "isDefault = true");
		assertRefused(NoPayload.class, "NoPayload.on(String) has no parameter whose class tells", "isDefault = true");
	}

	@Test
	void refusesATypeThatNoMethodIsFor() {
		assertRefused(UnknownType.class, "UnknownType names the types [order.moved]", "[order.placed]");
	}

	@EventType("order.placed")
	record OrderPlaced(long id) {
	}

	record Cancelled(String reason) {
	}

	@PgEventListener(streams = "orders", group = "billing")
	static class WithoutDefault extends ListenerContext.Received {

		@PgEventHandler
		void on(OrderPlaced order) {
			add(order);
		}

		@PgEventHandler
		void on(Event<Cancelled> cancelled) {
			add(cancelled.payload());
		}

	}

	@PgEventListener(streams = "orders", group = "billing")
	static class WithDefault extends ListenerContext.Received {

		@PgEventHandler
		void on(OrderPlaced order) {
			add(order);
		}

		@PgEventHandler(isDefault = true)
		void onOther(Map<String, Object> other) {
			add(other);
		}

	}

	@PgEventListener(streams = "orders", group = "billing", types = "order.placed")
	static class Limited extends WithDefault {

	}

	@PgEventListener(streams = "orders", group = "billing")
	@PgEventListener(streams = "orders", group = "shipping")
	static class Repeated extends WithDefault {

		@PgEventListener(streams = "orders", group = "method")
		void onAll(String payload) {
		}

	}

	@PgEventListener(streams = "orders", group = "billing", delivery = "at-least-once")
	static class Asynchronous {

		@PgEventHandler
		void on(OrderPlaced order) {
		}

		@PgEventHandler
		CompletableFuture<?> on(Cancelled cancelled) {
			return new CompletableFuture<>();
		}

	}

	@PgEventListener(streams = "orders", group = "billing")
	static class TwoForOneType {

		@PgEventHandler
		void one(OrderPlaced order) {
		}

		@PgEventHandler
		void two(Event<OrderPlaced> order) {
		}

	}

	@PgEventListener(streams = "orders", group = "billing")
	static class TwoDefaults {

		@PgEventHandler(isDefault = true)
		void one(String payload) {
		}

		@PgEventHandler(isDefault = true)
		void two(String payload) {
		}

	}

	@PgEventListener(streams = "orders", group = "billing", batch = "true")
	static class Batch {

		@PgEventHandler
		void on(List<OrderPlaced> orders) {
		}

	}

	@PgEventListener(streams = "orders", group = "billing")
	static class WithoutMethods {

	}

	static class WithoutListener {

		@PgEventHandler
		void on(OrderPlaced order) {
		}

	}

	@PgEventListener(streams = "orders", group = "billing")
	static class OpenPayload {

		@PgEventHandler
		void on(Map<String, Object> order) {
		}

	}

	@PgEventListener(streams = "orders", group = "billing")
	static class Change {

		@PgEventHandler
		void on(TableChange<String> order) {
		}

	}

	@PgEventListener(streams = "orders", group = "billing")
	static class NoPayload {

		@PgEventHandler
		void on(@Header String tenant) {
		}

	}

	@PgEventListener(streams = "orders", group = "billing", types = "order.moved")
	static class UnknownType {

		@PgEventHandler
		void on(OrderPlaced order) {
		}

	}

}
