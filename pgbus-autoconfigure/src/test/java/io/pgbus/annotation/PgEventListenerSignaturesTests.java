package io.pgbus.annotation;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

import io.pgbus.Acknowledgment;
import io.pgbus.Event;
import jakarta.validation.Valid;
import org.junit.jupiter.api.Test;

import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.scheduling.annotation.Async;

import static io.pgbus.annotation.PgEventListenerAttributesTests.assertRefused;

class PgEventListenerSignaturesTests {

	@Test
	void refusesABatchWithoutList() {
		assertRefused(BatchOfOne.class, "BatchOfOne.on(String) has batch = \"true\" and a parameter of type "
				+ "java.lang.String. Take a List of payloads, of Event or of Message instead.");
	}

	@Test
	void refusesABatchWithoutParameter() {
		assertRefused(BatchOfNothing.class, "BatchOfNothing.on() has batch = \"true\", but no parameter");
	}

	@Test
	void refusesABatchWithHeaders() {
		assertRefused(BatchWithHeaders.class, "BatchWithHeaders.on(List, String) takes headers");
	}

	@Test
	void refusesAListOfEventsWithoutBatch() {
		assertRefused(EventsWithoutBatch.class, "EventsWithoutBatch.on(List) takes a list of events",
				"Set batch = \"true\"");
	}

	@Test
	void refusesTwoPayloads() {
		assertRefused(TwoPayloads.class, "TwoPayloads.on(String, Integer) has more than one parameter for the payload",
				"@Header");
	}

	@Test
	void refusesAPayloadExpression() {
		assertRefused(PayloadExpression.class, "PayloadExpression.on(String) has an expression in @Payload");
	}

	@Test
	void refusesHeadersThatAreNoMap() {
		assertRefused(HeadersNoMap.class, "HeadersNoMap.on(String) has a parameter with @Headers that is no Map");
	}

	@Test
	void refusesAResultThatNobodyReceives() {
		assertRefused(Result.class, "Result.on(String) returns java.lang.String, but nobody receives it");
		assertRefused(PlainFuture.class, "returns java.util.concurrent.Future");
	}

	@Test
	void refusesTwoWaysToSayThatAnEventIsHandled() {
		assertRefused(TwoWays.class, "TwoWays.on(String, Acknowledgment)", "Use one of them");
	}

	@Test
	void refusesAnAsyncMethodWhoseEndNobodySees() {
		assertRefused(FireAndForget.class, "FireAndForget.on(String) is @Async and returns nothing",
				"Return a CompletableFuture");
	}

	@Test
	void refusesValidationWithoutValidator() {
		assertRefused(WithoutValidator.class, "WithoutValidator.on(String) has a parameter with @Valid",
				"spring-boot-starter-validation");
	}

	static class BatchOfOne {

		@PgEventListener(streams = "orders", group = "billing", batch = "true")
		void on(String payload) {
		}

	}

	static class BatchOfNothing {

		@PgEventListener(streams = "orders", group = "billing", batch = "true")
		void on() {
		}

	}

	static class BatchWithHeaders {

		@PgEventListener(streams = "orders", group = "billing", batch = "true")
		void on(List<String> payloads, @Header String tenant) {
		}

	}

	static class EventsWithoutBatch {

		@PgEventListener(streams = "orders", group = "billing")
		void on(List<Event<String>> events) {
		}

	}

	static class TwoPayloads {

		@PgEventListener(streams = "orders", group = "billing")
		void on(String payload, Integer other) {
		}

	}

	static class PayloadExpression {

		@PgEventListener(streams = "orders", group = "billing")
		void on(@Payload("id") String payload) {
		}

	}

	static class HeadersNoMap {

		@PgEventListener(streams = "orders", group = "billing")
		void on(@Headers String headers) {
		}

	}

	static class Result {

		@PgEventListener(streams = "orders", group = "billing")
		String on(String payload) {
			return payload;
		}

	}

	static class PlainFuture {

		@PgEventListener(streams = "orders", group = "billing")
		Future<?> on(String payload) {
			return new CompletableFuture<>();
		}

	}

	static class TwoWays {

		@PgEventListener(streams = "orders", group = "billing", delivery = "at-least-once")
		CompletableFuture<?> on(String payload, Acknowledgment acknowledgment) {
			return new CompletableFuture<>();
		}

	}

	static class FireAndForget {

		@Async
		@PgEventListener(streams = "orders", group = "billing")
		void on(String payload) {
		}

	}

	static class WithoutValidator {

		@PgEventListener(streams = "orders", group = "billing")
		void on(@Valid String payload) {
		}

	}

}
