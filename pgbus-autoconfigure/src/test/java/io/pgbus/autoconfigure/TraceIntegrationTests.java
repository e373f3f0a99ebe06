package io.pgbus.autoconfigure;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

import brave.handler.MutableSpan;
import brave.handler.SpanHandler;
import brave.propagation.TraceContext;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Tracer;
import io.pgbus.Event;
import io.pgbus.OutgoingEvent;
import io.pgbus.annotation.PgEventListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Traces through the bus, with Micrometer Tracing and Brave.
 */
class TraceIntegrationTests {

	private final ObservedApplication application = ObservedApplication.start(List.of(Spans.class, Handlers.class));

	private final Spans spans = this.application.bean(Spans.class);

	private final Handlers handlers = this.application.bean(Handlers.class);

	@AfterEach
	void close() {
		this.application.close();
	}

	@Test
	void oneTraceGoesFromTheRequestThroughThePublisherToTheRetriedHandler() {
		String trace = inRequest(() -> this.application.publisher().publish("single", "k", "fails once"));
		await().untilAsserted(() -> assertThat(this.spans.named("single handle")).hasSize(2));
		assertThat(this.handlers.traces).containsExactly(trace, trace);
		MutableSpan request = this.spans.only("request");
		MutableSpan publish = this.spans.only("single publish");
		assertThat(publish.traceId()).isEqualTo(trace);
		assertThat(publish.parentId()).isEqualTo(request.id());
		assertThat(publish.kind()).isEqualTo(brave.Span.Kind.PRODUCER);
		assertThat(this.spans.named("single handle")).allSatisfy((handle) -> {
			assertThat(handle.traceId()).isEqualTo(trace);
			assertThat(handle.parentId()).isEqualTo(publish.id());
			assertThat(handle.kind()).isEqualTo(brave.Span.Kind.CONSUMER);
		});
		assertThat(this.spans.named("single handle").get(0).error()).hasMessage("not yet");
	}

	@Test
	void everyEventOfOneCallCarriesItsContext() {
		String trace = inRequest(() -> this.application.publisher()
			.publishAll(List.of(OutgoingEvent.to("single").key("a").payload("1"),
					OutgoingEvent.to("single").key("b").payload("2"))));
		await().untilAsserted(() -> assertThat(this.handlers.traces).containsExactly(trace, trace));
		assertThat(this.spans.named("single publish")).hasSize(1);
	}

	@Test
	void anEventThatIsPassedOnWithItsHeadersBelongsToTheTraceItIsNowIn() {
		String trace = inRequest(() -> this.application.publisher()
			.publish(OutgoingEvent.to("single")
				.header("traceparent", "00-11111111111111111111111111111111-2222222222222222-01")
				.payload("1")));
		await().untilAsserted(() -> assertThat(this.handlers.traces).containsExactly(trace));
	}

	@Test
	void anEventFromSqlStartsATraceUnlessItHasOne() {
		JdbcClient jdbc = JdbcClient.create(this.application.database.dataSource());
		inRequest(() -> jdbc.sql("select pgbus.publish('single', 'k', 't', '\"1\"')").query().singleValue());
		jdbc.sql("""
				select pgbus.publish('single', 'k', 't', '"2"',
					'{"traceparent": "00-11111111111111111111111111111111-2222222222222222-01"}')
				""").query().singleValue();
		await().untilAsserted(() -> assertThat(this.spans.named("single handle")).hasSize(2));
		MutableSpan first = this.spans.named("single handle").get(0);
		assertThat(first.parentId()).isNull();
		assertThat(first.traceId()).isNotEqualTo(this.spans.only("request").traceId());
		MutableSpan second = this.spans.named("single handle").get(1);
		assertThat(second.traceId()).isEqualTo("1".repeat(32));
		assertThat(second.parentId()).isEqualTo("2".repeat(16));
	}

	@Test
	void aListHasATraceOfItsOwnThatLinksToThoseOfItsEvents() {
		this.handlers.open.acquireUninterruptibly();
		this.application.publisher().publish("list", "k", "0");
		await().until(() -> this.handlers.open.hasQueuedThreads());
		String trace = inRequest(() -> this.application.publisher()
			.publishAll(List.of(OutgoingEvent.to("list").key("k").payload("1"),
					OutgoingEvent.to("list").key("k").payload("2"))));
		String other = inRequest(() -> this.application.publisher().publish("list", "k", "3"));
		JdbcClient.create(this.application.database.dataSource())
			.sql("select pgbus.publish('list', 'k', 't', '\"4\"')")
			.query()
			.singleValue();
		this.handlers.open.release();
		await().untilAsserted(() -> assertThat(this.handlers.listed).contains("4"));
		await().untilAsserted(() -> assertThat(this.spans.named("list handle"))
			.anySatisfy((handle) -> assertThat(handle.tag("pgbus.events")).isEqualTo("4")));
		MutableSpan handle = this.spans.named("list handle")
			.stream()
			.filter((span) -> "4".equals(span.tag("pgbus.events")))
			.findFirst()
			.orElseThrow();
		assertThat(handle.parentId()).isNull();
		assertThat(handle.traceId()).isNotIn(trace, other);
		List<MutableSpan> publishers = this.spans.named("list publish").subList(1, 3);
		assertThat(handle.tags()).containsEntry("links[0].traceId", trace)
			.containsEntry("links[0].spanId", publishers.get(0).id())
			.containsEntry("links[1].traceId", other)
			.containsEntry("links[1].spanId", publishers.get(1).id());
	}

	/** Does something as a request would, and returns the id of its trace. */
	private String inRequest(Runnable work) {
		Tracer tracer = this.application.bean(Tracer.class);
		return Observation.createNotStarted("request", this.application.bean(ObservationRegistry.class)).observe(() -> {
			work.run();
			return tracer.currentSpan().context().traceId();
		});
	}

	static class Spans {

		private final List<MutableSpan> finished = new CopyOnWriteArrayList<>();

		@Bean
		SpanHandler spanHandler() {
			return new SpanHandler() {

				@Override
				public boolean end(TraceContext context, MutableSpan span, Cause cause) {
					Spans.this.finished.add(span);
					return true;
				}

			};
		}

		List<MutableSpan> named(String name) {
			return this.finished.stream().filter((span) -> name.equals(span.name())).toList();
		}

		MutableSpan only(String name) {
			assertThat(named(name)).hasSize(1);
			return named(name).get(0);
		}

	}

	static class Handlers {

		final List<String> traces = new CopyOnWriteArrayList<>();

		final List<String> listed = new CopyOnWriteArrayList<>();

		final java.util.concurrent.Semaphore open = new java.util.concurrent.Semaphore(1);

		@Autowired
		private Tracer tracer;

		@PgEventListener(streams = "single", group = "single")
		void handle(Event<String> event) {
			String trace = this.tracer.currentSpan().context().traceId();
			assertThat(MDC.get("traceId")).isEqualTo(trace);
			this.traces.add(trace);
			if (event.payload().equals("fails once") && event.attempt() == 1) {
				throw new IllegalStateException("not yet");
			}
		}

		@PgEventListener(streams = "list", group = "list", batch = "true")
		void handleAll(List<String> payloads) {
			this.open.acquireUninterruptibly();
			this.open.release();
			this.listed.addAll(payloads);
		}

	}

}
