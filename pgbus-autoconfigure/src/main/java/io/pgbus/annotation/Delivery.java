package io.pgbus.annotation;

import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.pgbus.Acknowledgment;
import io.pgbus.BatchListenerFailedException;
import io.pgbus.Event;
import io.pgbus.UnreadableEventException;
import io.pgbus.core.EventConverter;

/**
 * One call of a listener method: what its arguments are made from.
 */
final class Delivery {

	private final List<Event<Object>> events;

	private final EventConverter converter;

	private final Acknowledgment acknowledgment;

	/** Two parameters that carry the payload get the same object. */
	private final Map<Type, List<Object>> payloads = new HashMap<>(2);

	Delivery(List<Event<Object>> events, EventConverter converter, Acknowledgment acknowledgment) {
		this.events = events;
		this.converter = converter;
		this.acknowledgment = acknowledgment;
	}

	List<Event<Object>> events() {
		return this.events;
	}

	Acknowledgment acknowledgment() {
		return this.acknowledgment;
	}

	/** The payloads of all events, in their order. */
	List<Object> payloads(Type type) {
		return this.payloads.computeIfAbsent(type, this::read);
	}

	/** Tells which event of a batch it is, so that it need not be searched for. */
	RuntimeException unreadable(int index, UnreadableEventException failure) {
		return (this.events.size() == 1) ? failure
				: new BatchListenerFailedException("Unreadable event", failure, index);
	}

	private List<Object> read(Type type) {
		List<Object> payloads = new ArrayList<>(this.events.size());
		for (Event<Object> event : this.events) {
			try {
				payloads.add(this.converter.readPayload(event.withPayload((String) event.payload()), type));
			}
			catch (UnreadableEventException ex) {
				throw unreadable(payloads.size(), ex);
			}
		}
		return payloads;
	}

}
