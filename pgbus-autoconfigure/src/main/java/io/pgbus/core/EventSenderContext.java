package io.pgbus.core;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.micrometer.observation.transport.SenderContext;
import io.pgbus.OutgoingEvent;

/**
 * What is known of a call that publishes events, while it is observed. The carrier takes
 * up the headers that every event of the call is given in addition to its own.
 *
 * @since 0.1.0
 */
public class EventSenderContext extends SenderContext<Map<String, String>> {

	private final List<OutgoingEvent> events;

	private List<Long> eventIds = List.of();

	/**
	 * Creates a context.
	 * @param events the events, at least one
	 */
	public EventSenderContext(List<OutgoingEvent> events) {
		super((carrier, name, value) -> {
			if (carrier != null) {
				carrier.put(name, value);
			}
		});
		this.events = List.copyOf(events);
		setCarrier(new LinkedHashMap<>());
	}

	/**
	 * Returns the events.
	 * @return the events as the caller gave them, at least one
	 */
	public List<OutgoingEvent> events() {
		return this.events;
	}

	/**
	 * Returns the ids that the events were given.
	 * @return the ids in the order of the events; empty while they are not yet written,
	 * or if that failed
	 */
	public List<Long> eventIds() {
		return this.eventIds;
	}

	void written(List<Long> eventIds) {
		this.eventIds = List.copyOf(eventIds);
	}

}
