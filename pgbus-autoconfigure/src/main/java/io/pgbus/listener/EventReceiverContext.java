package io.pgbus.listener;

import java.util.List;
import java.util.Map;

import io.micrometer.observation.transport.ReceiverContext;
import io.pgbus.Event;

/**
 * What is known of a call of a listener's handler, while it is observed. For a listener
 * of single events the carrier has the headers of the event, which lead to the trace of
 * its publisher. A list may have events of many traces, so for a listener of lists the
 * carrier is empty, and the call starts a trace of its own.
 *
 * @since 0.1.0
 */
public class EventReceiverContext extends ReceiverContext<Map<String, String>> {

	private final PgListenerEndpoint endpoint;

	private final List<Event<String>> events;

	private Outcome outcome = Outcome.UNKNOWN;

	/**
	 * Creates a context.
	 * @param endpoint the listener
	 * @param events the events, at least one and all of one stream, with their payloads
	 * as JSON text
	 */
	public EventReceiverContext(PgListenerEndpoint endpoint, List<Event<String>> events) {
		super(Map::get);
		this.endpoint = endpoint;
		this.events = List.copyOf(events);
		setCarrier(endpoint.batch() ? Map.of() : this.events.get(0).headers());
	}

	/**
	 * Returns the listener.
	 * @return the endpoint
	 */
	public PgListenerEndpoint endpoint() {
		return this.endpoint;
	}

	/**
	 * Returns the events.
	 * @return one event, or for a listener of lists one or more; with their payloads as
	 * JSON text
	 */
	public List<Event<String>> events() {
		return this.events;
	}

	/**
	 * Returns how the call ended.
	 * @return the outcome
	 */
	public Outcome outcome() {
		return this.outcome;
	}

	void ended(Outcome outcome) {
		this.outcome = outcome;
	}

	/**
	 * How a call ended.
	 */
	public enum Outcome {

		/** It has not ended yet. */
		UNKNOWN,

		/** The events are handled. */
		SUCCESS,

		/** The handler failed, or the commit did for what the handler has done. */
		FAILURE,

		/**
		 * The handler is not to blame: the database was lost, or the cursor was. What the
		 * handler did is rolled back with exactly-once delivery, and the events are
		 * delivered anew.
		 */
		ABORTED

	}

}
