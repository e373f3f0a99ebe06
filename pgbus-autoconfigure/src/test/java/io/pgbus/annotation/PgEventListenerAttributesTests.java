package io.pgbus.annotation;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.pgbus.DeliveryMode;
import io.pgbus.EventErrorHandler;
import io.pgbus.PgBusException;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.listener.ListenerDefaults;
import io.pgbus.listener.PgListenerEndpoint;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.AliasFor;
import org.springframework.util.unit.DataSize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class PgEventListenerAttributesTests {

	@Test
	void leavesToTheDefaultsWhatIsNotSet() {
		try (ListenerContext context = ListenerContext.of(Plain.class)) {
			PgListenerEndpoint endpoint = context.registry().endpoint("billing");
			assertThat(endpoint.group()).isEqualTo("billing");
			assertThat(endpoint.streams()).containsExactly("orders");
			assertThat(endpoint.types()).isNull();
			assertThat(endpoint.filter()).isNull();
			assertThat(endpoint.concurrency()).isNull();
			assertThat(endpoint.start()).isNull();
			assertThat(endpoint.delivery()).isNull();
			assertThat(endpoint.retry()).isNull();
			assertThat(endpoint.errorHandler()).isNull();
			assertThat(endpoint.payloadType()).isNull();
			assertThat(endpoint.batch()).isFalse();
			assertThat(endpoint.asynchronous()).isFalse();
			assertThat(endpoint.autoStartup()).isTrue();
		}
	}

	@Test
	void resolvesPlaceholdersAndExpressionsInEveryAttribute() {
		Map<String, Object> properties = ListenerContext.properties("app.streams", "orders, refunds", "app.types",
				"a,b", "app.n", "3", "app.start", "2026-01-31T12:00:00Z", "app.delivery", "at-least-once", "app.flag",
				"false", "app.filter", "payload->>'total' is not null", "app.delay", "250ms");
		try (ListenerContext context = ListenerContext.of(properties, Everything.class, Names.class)) {
			PgListenerEndpoint endpoint = context.registry().endpoint("id-3");
			assertThat(endpoint.group()).isEqualTo("group-3");
			assertThat(endpoint.streams()).containsExactly("orders", "refunds", "from a bean", "with, comma",
					"and an array");
			assertThat(endpoint.types()).containsExactlyInAnyOrder("a", "b", "c");
			assertThat(endpoint.concurrency()).isEqualTo(6);
			assertThat(endpoint.start()).isEqualTo(StartPosition.at(Instant.parse("2026-01-31T12:00:00Z")));
			assertThat(endpoint.delivery()).isEqualTo(DeliveryMode.AT_LEAST_ONCE);
			assertThat(endpoint.autoStartup()).isFalse();
			assertThat(endpoint.batch()).isTrue();
			assertThat(endpoint.filter()).isEqualTo("payload->>'total' is not null");
			assertThat(endpoint.retry()).isEqualTo(new RetryPolicy(7, Duration.ofMillis(250), 1.5,
					Duration.ofSeconds(10), 0, RetryPolicy.DEFAULT.notRetried(), RetryPolicy.OnDead.HOLD_KEY));
		}
	}

	@Test
	void takesWhatARetryPolicyDoesNotSayFromTheDefaults() {
		try (ListenerContext context = ListenerContext.of(OneAttempt.class, OwnDefaults.class)) {
			RetryPolicy retry = context.registry().endpoint("billing").retry();
			assertThat(retry).isNotNull();
			assertThat(retry.attempts()).isEqualTo(1);
			assertThat(retry.backOff()).isEqualTo(Duration.ofMinutes(9));
			assertThat(retry.notRetried()).containsExactly(IllegalStateException.class);
		}
	}

	@Test
	void takesTheGroupFromThePropertyWhereTheAnnotationHasNone() {
		Map<String, Object> properties = ListenerContext.properties("pgbus.listener.group", "shop");
		try (ListenerContext context = ListenerContext.of(properties, WithoutGroup.class)) {
			assertThat(context.registry().endpoint("shop").group()).isEqualTo("shop");
		}
	}

	@Test
	void takesTheAutoStartupFromThePropertyWhereTheAnnotationHasNone() {
		Map<String, Object> properties = ListenerContext.properties("pgbus.listener.auto-startup", "false");
		try (ListenerContext context = ListenerContext.of(properties, Plain.class)) {
			assertThat(context.registry().endpoint("billing").autoStartup()).isFalse();
		}
	}

	@Test
	void refusesAListenerWithoutGroup() {
		assertRefused(WithoutGroup.class, "WithoutGroup.on(String) has no consumer group",
				"Set the attribute \"group\", or the property pgbus.listener.group.");
	}

	@Test
	void refusesAListenerWithoutStream() {
		assertRefused(WithoutStream.class, "WithoutStream.on(String)", "names no stream");
	}

	@Test
	void refusesAPlaceholderWithoutValue() {
		assertRefused(UnknownPlaceholder.class, "UnknownPlaceholder.on(String) has streams = \"${nowhere}\"",
				"cannot be resolved");
	}

	@Test
	void refusesAConcurrencyThatIsNoNumber() {
		assertRefused(BadConcurrency.class, "BadConcurrency.on(String) has concurrency = \"many\"", "a whole number");
	}

	@Test
	void refusesAConcurrencyOfNone() {
		assertRefused(NoConcurrency.class, "NoConcurrency.on(String)", "must be at least 1");
	}

	@Test
	void refusesAnUnknownDeliveryMode() {
		assertRefused(BadDelivery.class, "BadDelivery.on(String) has delivery = \"maybe\"",
				"one of EXACTLY_ONCE, AT_LEAST_ONCE");
	}

	@Test
	void refusesAnUnknownStart() {
		assertRefused(BadStart.class, "BadStart.on(String) has start = \"yesterday\"",
				"latest, earliest, an ISO-8601 instant or an event id");
	}

	@Test
	void refusesAFlagThatIsNeitherTrueNorFalse() {
		assertRefused(BadFlag.class, "BadFlag.on(String) has autoStartup = \"yes\"", "true or false");
	}

	@Test
	void refusesADurationThatIsNone() {
		assertRefused(BadDelay.class, "BadDelay.on(String) has backOff.delay = \"soon\"", "a duration");
	}

	@Test
	void refusesARetryPolicyThatIsOutOfRange() {
		assertRefused(BadAttempts.class, "BadAttempts.on(String)", "attempts of a retry policy is 0");
	}

	@Test
	void refusesAnErrorHandlerThatIsNoBean() {
		assertRefused(BadErrorHandler.class, "BadErrorHandler.on(String) has errorHandler = \"nobody\"",
				"a bean that is an EventErrorHandler");
	}

	@Test
	void takesAnErrorHandlerByNameOrExpression() {
		try (ListenerContext context = ListenerContext.of(WithErrorHandlers.class)) {
			EventErrorHandler errorHandler = context.bean(EventErrorHandler.class);
			assertThat(context.registry().endpoint("named").errorHandler()).isSameAs(errorHandler);
			assertThat(context.registry().endpoint("expressed").errorHandler()).isSameAs(errorHandler);
		}
	}

	@Test
	void refusesTwoListenersWithOneIdAndNamesBoth() {
		assertRefused(SharedGroup.class, "Two listeners have the id \"billing\"", "SharedGroup.one(String)",
				"SharedGroup.two(String)", "Set the attribute \"id\"");
	}

	@Test
	void registersEachOfRepeatedAnnotations() {
		try (ListenerContext context = ListenerContext.of(Repeated.class)) {
			assertThat(context.registry().ids()).containsExactlyInAnyOrder("billing", "shipping", "audit");
		}
	}

	@Test
	void worksAsAMetaAnnotationWithAliases() throws Exception {
		try (ListenerContext context = ListenerContext.of(Composed.class)) {
			PgListenerEndpoint endpoint = context.registry().endpoint("composed");
			assertThat(endpoint.streams()).containsExactly("aliased");
			assertThat(endpoint.concurrency()).isEqualTo(4);
			context.registry().deliver("composed", "x", "\"a\"");
			assertThat(context.bean(Composed.class).values).containsExactly("a");
		}
	}

	@Test
	void letsAnExpressionReadTheBean() {
		try (ListenerContext context = ListenerContext.of(NamedByBean.class)) {
			assertThat(context.registry().ids()).containsExactly("from-bean");
		}
	}

	static void assertRefused(Class<?> bean, String... parts) {
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> ListenerContext.of(bean).close())
			.satisfies((ex) -> Arrays.stream(parts).forEach((part) -> assertThat(ex).hasMessageContaining(part)));
	}

	static class Plain {

		@PgEventListener(streams = "orders", group = "billing")
		void on(String payload) {
		}

	}

	static class Everything {

		@PgEventListener(streams = { "${app.streams}", "#{@names.streams}", "#{@names.array}" },
				types = { "${app.types}", "c" }, id = "id-${app.n}", group = "#{'group-' + ${app.n}}",
				concurrency = "#{${app.n} * 2}", start = "${app.start}", delivery = "${app.delivery}",
				autoStartup = "${app.flag}", batch = "#{!${app.flag}}", filter = "${app.filter}", attempts = "7",
				backOff = @BackOff(delay = "${app.delay}", multiplier = "1.5", maxDelay = "PT10S", jitter = "0"),
				onDead = "hold-key")
		void on(List<String> payload) {
		}

	}

	static class Names {

		@Bean
		Names names() {
			return this;
		}

		public List<String> getStreams() {
			return List.of("from a bean", "with, comma");
		}

		public String[] getArray() {
			return new String[] { "and an array" };
		}

	}

	static class OneAttempt {

		@PgEventListener(streams = "orders", group = "billing", attempts = "1")
		void on(String payload) {
		}

	}

	static class OwnDefaults {

		@Bean
		ListenerDefaults listenerDefaults() {
			return new ListenerDefaults(DeliveryMode.AT_LEAST_ONCE, StartPosition.latest(), 1, 1,
					DataSize.ofMegabytes(1), 1, Duration.ofSeconds(1),
					new RetryPolicy(3, Duration.ofMinutes(9), 1, Duration.ofMinutes(9), 0,
							Set.of(IllegalStateException.class), RetryPolicy.OnDead.CONTINUE));
		}

	}

	static class WithoutGroup {

		@PgEventListener(streams = "orders")
		void on(String payload) {
		}

	}

	static class WithoutStream {

		@PgEventListener(streams = "${app.streams:}", group = "billing")
		void on(String payload) {
		}

	}

	static class UnknownPlaceholder {

		@PgEventListener(streams = "${nowhere}", group = "billing")
		void on(String payload) {
		}

	}

	static class BadConcurrency {

		@PgEventListener(streams = "orders", group = "billing", concurrency = "many")
		void on(String payload) {
		}

	}

	static class NoConcurrency {

		@PgEventListener(streams = "orders", group = "billing", concurrency = "0")
		void on(String payload) {
		}

	}

	static class BadDelivery {

		@PgEventListener(streams = "orders", group = "billing", delivery = "maybe")
		void on(String payload) {
		}

	}

	static class BadStart {

		@PgEventListener(streams = "orders", group = "billing", start = "yesterday")
		void on(String payload) {
		}

	}

	static class BadFlag {

		@PgEventListener(streams = "orders", group = "billing", autoStartup = "yes")
		void on(String payload) {
		}

	}

	static class BadDelay {

		@PgEventListener(streams = "orders", group = "billing", backOff = @BackOff(delay = "soon"))
		void on(String payload) {
		}

	}

	static class BadAttempts {

		@PgEventListener(streams = "orders", group = "billing", attempts = "0")
		void on(String payload) {
		}

	}

	static class BadErrorHandler {

		@PgEventListener(streams = "orders", group = "billing", errorHandler = "nobody")
		void on(String payload) {
		}

	}

	static class WithErrorHandlers {

		@Bean
		EventErrorHandler discarding() {
			return (event, group, failure) -> EventErrorHandler.Decision.DISCARD;
		}

		@PgEventListener(streams = "orders", group = "named", errorHandler = "discarding")
		void named(String payload) {
		}

		@PgEventListener(streams = "orders", group = "expressed", errorHandler = "#{@discarding}")
		void expressed(String payload) {
		}

	}

	static class SharedGroup {

		@PgEventListener(streams = "orders", group = "billing")
		void one(String payload) {
		}

		@PgEventListener(streams = "refunds", group = "billing")
		void two(String payload) {
		}

	}

	static class Repeated {

		@PgEventListener(streams = "orders", group = "billing")
		@PgEventListener(streams = "orders", group = "shipping")
		void on(String payload) {
		}

		@PgEventListeners(@PgEventListener(streams = "orders", group = "audit"))
		void onAudit(String payload) {
		}

	}

	@Retention(RetentionPolicy.RUNTIME)
	@PgEventListener(group = "composed", concurrency = "4")
	@interface ComposedListener {

		@AliasFor(annotation = PgEventListener.class, attribute = "streams")
		String[] value();

	}

	static class Composed extends ListenerContext.Received {

		@ComposedListener("aliased")
		void on(String payload) {
			add(payload);
		}

	}

	static class NamedByBean {

		@PgEventListener(streams = "orders", group = "#{__listener.name}")
		void on(String payload) {
		}

		public String getName() {
			return "from-bean";
		}

	}

}
