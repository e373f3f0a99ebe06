package io.pgbus.actuate;

import java.util.Map;
import java.util.stream.Stream;

import io.micrometer.observation.Observation;
import io.micrometer.tracing.Link;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.TraceContext;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.PropagatingReceiverTracingObservationHandler;
import io.micrometer.tracing.propagation.Propagator;
import io.pgbus.Event;
import io.pgbus.listener.EventReceiverContext;
import org.jspecify.annotations.Nullable;

/**
 * Starts the span of a call with a list of events, in a trace of its own, with links to
 * the spans that published the events.
 *
 * @since 0.1.0
 */
public class EventLinksObservationHandler extends PropagatingReceiverTracingObservationHandler<EventReceiverContext> {

	private final Tracer tracer;

	private final Propagator propagator;

	/**
	 * Creates a handler.
	 * @param tracer starts spans
	 * @param propagator reads the headers of events
	 */
	public EventLinksObservationHandler(Tracer tracer, Propagator propagator) {
		super(tracer, propagator);
		this.tracer = tracer;
		this.propagator = propagator;
	}

	@Override
	public boolean supportsContext(Observation.Context context) {
		return context instanceof EventReceiverContext received && received.endpoint().batch();
	}

	@Override
	public Span.Builder customizeExtractedSpan(EventReceiverContext context, Span.Builder builder) {
		// events that were published by one call have one span
		context.events()
			.stream()
			.map(Event::headers)
			.distinct()
			.flatMap(this::publisher)
			.distinct()
			.forEach((span) -> builder.addLink(new Link(span.toContext(this.tracer))));
		return builder;
	}

	/**
	 * The span that the headers lead to. What they look like is the propagator's affair,
	 * and it tells by a span that would follow, which is given up.
	 */
	private Stream<Publisher> publisher(Map<String, String> headers) {
		if (this.propagator.fields().stream().noneMatch((field) -> headers.containsKey(field))) {
			return Stream.empty();
		}
		Span next = this.propagator.extract(headers, Map::get).start();
		next.abandon();
		TraceContext context = next.context();
		return Stream.ofNullable(Publisher.before(context));
	}

	/**
	 * A span that published events.
	 *
	 * @param traceId its trace
	 * @param spanId its id
	 * @param sampled whether it is sampled, {@code null} if that is not decided
	 */
	private record Publisher(String traceId, String spanId, @Nullable Boolean sampled) {

		static @Nullable Publisher before(TraceContext next) {
			String spanId = next.parentId();
			return (spanId != null) ? new Publisher(next.traceId(), spanId, next.sampled()) : null;
		}

		TraceContext toContext(Tracer tracer) {
			TraceContext.Builder context = tracer.traceContextBuilder().traceId(this.traceId).spanId(this.spanId);
			return ((this.sampled != null) ? context.sampled(this.sampled) : context).build();
		}

	}

}
