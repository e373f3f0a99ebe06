package io.pgbus.annotation;

import java.util.HashMap;
import java.util.Map;

import io.pgbus.Event;

import org.springframework.messaging.MessageHeaders;

/**
 * The message headers of an event. They have no generated id, which would differ each
 * time the event is delivered.
 */
final class EventHeaders extends MessageHeaders {

	private static final long serialVersionUID = 1L;

	EventHeaders(Event<?> event) {
		super(headers(event), ID_VALUE_NONE, event.publishedAt().toEpochMilli());
	}

	private static Map<String, Object> headers(Event<?> event) {
		Map<String, Object> headers = new HashMap<>(event.headers());
		headers.put(PgHeaders.ID, event.id());
		headers.put(PgHeaders.STREAM, event.stream());
		headers.put(PgHeaders.PARTITION, event.partition());
		headers.put(PgHeaders.TYPE, event.type());
		if (event.key() != null) {
			headers.put(PgHeaders.KEY, event.key());
		}
		else {
			headers.remove(PgHeaders.KEY);
		}
		headers.put(PgHeaders.PUBLISHED_AT, event.publishedAt());
		headers.put(PgHeaders.ATTEMPT, event.attempt());
		return headers;
	}

}
