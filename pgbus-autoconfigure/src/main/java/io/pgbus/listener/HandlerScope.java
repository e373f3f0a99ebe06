package io.pgbus.listener;

import java.util.List;
import java.util.function.ToLongFunction;

import io.micrometer.observation.Observation;
import io.pgbus.Event;
import io.pgbus.core.EventConverter;
import io.pgbus.listener.EventReceiverContext.Outcome;
import io.pgbus.store.Claim;
import io.pgbus.store.StoredEvent;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * What surrounds a call of a handler: names in the logging context, and an observation.
 */
final class HandlerScope {

	static final String GROUP = "pgbus.group";

	static final String STREAM = "pgbus.stream";

	static final String EVENT = "pgbus.event";

	private static final PgListenerObservationConvention CONVENTION = new DefaultPgListenerObservationConvention();

	private final PgListenerEndpoint endpoint;

	private final EventConverter converter;

	private final ListenerInstruments instruments;

	HandlerScope(PgListenerEndpoint endpoint, EventConverter converter, ListenerInstruments instruments) {
		this.endpoint = endpoint;
		this.converter = converter;
		this.instruments = instruments;
	}

	/**
	 * Makes a call.
	 * @param claim where the events are from
	 * @param events the events
	 * @param attempt which attempt to handle them it is
	 * @param call calls the handler
	 */
	void run(Claim claim, List<StoredEvent> events, int attempt, Runnable call) {
		String group = put(GROUP, this.endpoint.group());
		String stream = put(STREAM, claim.stream());
		String event = put(EVENT, idsOf(events, StoredEvent::id));
		try {
			observe(claim, events, attempt, call);
		}
		finally {
			restore(EVENT, event);
			restore(STREAM, stream);
			restore(GROUP, group);
		}
	}

	private void observe(Claim claim, List<StoredEvent> events, int attempt, Runnable call) {
		Observation observation = PgListenerObservation.HANDLE.observation(this.instruments.convention(), CONVENTION,
				() -> context(claim, events, attempt), this.instruments.observations());
		if (!(observation.getContext() instanceof EventReceiverContext context)) {
			call.run();
			return;
		}
		observation.start();
		try (Observation.Scope scope = observation.openScope()) {
			call.run();
			context.ended(Outcome.SUCCESS);
		}
		catch (HandlerFailure failure) {
			context.ended(Outcome.FAILURE);
			observation.error(failure.reason());
			throw failure;
		}
		catch (RuntimeException | Error ex) {
			context.ended(Outcome.ABORTED);
			observation.error(ex);
			throw ex;
		}
		finally {
			observation.stop();
		}
	}

	private EventReceiverContext context(Claim claim, List<StoredEvent> events, int attempt) {
		List<Event<String>> read = events.stream()
			.map((event) -> this.converter.read(event, claim.stream(), claim.partitionOf(event), attempt))
			.toList();
		return new EventReceiverContext(this.endpoint, read);
	}

	/** The id of one event, or the first and the last of several. */
	static <E> String idsOf(List<E> events, ToLongFunction<E> id) {
		long first = id.applyAsLong(events.get(0));
		return (events.size() == 1) ? String.valueOf(first)
				: first + ".." + id.applyAsLong(events.get(events.size() - 1));
	}

	private static @Nullable String put(String key, String value) {
		String before = MDC.get(key);
		MDC.put(key, value);
		return before;
	}

	private static void restore(String key, @Nullable String before) {
		if (before != null) {
			MDC.put(key, before);
		}
		else {
			MDC.remove(key);
		}
	}

}
