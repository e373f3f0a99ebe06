package io.pgbus.core;

import java.lang.reflect.Type;
import java.util.LinkedHashMap;
import java.util.Map;

import io.pgbus.Event;
import io.pgbus.InvalidEventException;
import io.pgbus.UnreadableEventException;
import io.pgbus.store.StoredEvent;
import io.pgbus.store.TableListenerStore;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Turns payloads and headers into JSON and back, by the application's mapper. The type to
 * read is always the listener's choice, never the payload's.
 *
 * @since 0.1.0
 */
public class EventConverter {

	private final JsonMapper mapper;

	private final TableChangeReader tableChanges;

	/** What many events in a row have alike, above all the changes of tables. */
	private volatile Headers lastHeaders = new Headers("{}", Map.of());

	/**
	 * Creates a converter.
	 * @param mapper the application's mapper
	 */
	public EventConverter(JsonMapper mapper) {
		this.mapper = mapper;
		this.tableChanges = new TableChangeReader(mapper);
	}

	/**
	 * Writes a payload.
	 * @param payload the payload
	 * @return its JSON text
	 * @throws InvalidEventException if it cannot be written, or has something in it that
	 * PostgreSQL cannot store
	 */
	public String write(Object payload) {
		String json;
		try {
			json = this.mapper.writeValueAsString(payload);
		}
		catch (JacksonException ex) {
			throw new InvalidEventException(
					"A payload of " + payload.getClass() + " cannot be written as JSON: " + ex.getOriginalMessage(),
					ex);
		}
		String flaw = JsonText.flawOf(json);
		if (flaw != null) {
			throw new InvalidEventException(
					"A payload of " + payload.getClass() + " has " + flaw + ", which PostgreSQL cannot store.");
		}
		return json;
	}

	/**
	 * Writes headers.
	 * @param headers the headers
	 * @return the text of a JSON object, or {@code null} if there are none
	 */
	public @Nullable String writeHeaders(Map<String, String> headers) {
		return headers.isEmpty() ? null : this.mapper.writeValueAsString(headers);
	}

	/**
	 * Reads an event, but for its payload, which stays JSON text.
	 * @param stored the event as stored
	 * @param stream the name of its stream
	 * @param partition its partition
	 * @param attempt which attempt to handle it this is, from 1
	 * @return the event
	 * @throws UnreadableEventException if the headers cannot be read
	 */
	public Event<String> read(StoredEvent stored, String stream, int partition, int attempt) {
		try {
			return read(stored, stream, partition, attempt, readHeaders(stored.headers()));
		}
		catch (JacksonException ex) {
			throw new UnreadableEventException("The headers of event " + stored.id() + " of type \"" + stored.type()
					+ "\" in stream \"" + stream + "\" cannot be read: " + ex.getOriginalMessage(), ex);
		}
	}

	/**
	 * Returns the change of a table as one group sees it: of what the headers say to all
	 * groups, only what they say to this one.
	 * @param event the event
	 * @param groupId the group
	 * @return the event with other headers
	 */
	public Event<String> forGroup(Event<String> event, int groupId) {
		String outcome = event.headers().get(TableListenerStore.header(groupId));
		return new Event<>(event.id(), event.stream(), event.partition(), event.type(), event.key(), event.payload(),
				(outcome != null) ? Map.of(TableChangeReader.OUTCOME, outcome) : Map.of(), event.publishedAt(),
				event.attempt());
	}

	/**
	 * Checks that a change of a table is surely for the group that reads it.
	 * @param change the change as {@link #forGroup} returns it
	 * @throws UnreadableEventException if the group's filter failed on it
	 */
	public void checkForGroup(Event<?> change) {
		TableChangeReader.checkOutcome(change);
	}

	/**
	 * Reads what can be read of an event: as {@link #read}, but without headers if these
	 * cannot be.
	 * @param stored the event as stored
	 * @param stream the name of its stream
	 * @param partition its partition
	 * @param attempt which attempt to handle it this is, from 1
	 * @return the event
	 */
	public Event<String> readLeniently(StoredEvent stored, String stream, int partition, int attempt) {
		try {
			return read(stored, stream, partition, attempt);
		}
		catch (UnreadableEventException ex) {
			return read(stored, stream, partition, attempt, Map.of());
		}
	}

	private static Event<String> read(StoredEvent stored, String stream, int partition, int attempt,
			Map<String, String> headers) {
		return new Event<>(stored.id(), stream, partition, stored.type(), stored.key(), stored.payload(), headers,
				stored.publishedAt(), attempt);
	}

	/**
	 * Reads the payload of an event.
	 * @param event the event with the payload as JSON text
	 * @param type the type to read; for {@code String} a JSON string gives its value, and
	 * anything else its JSON text, and for {@link io.pgbus.TableChange} the change of a
	 * table, with its row as the type's argument
	 * @return the payload
	 * @throws UnreadableEventException if the payload does not fit, or gives no object
	 */
	public Object readPayload(Event<String> event, Type type) {
		try {
			Type rowType = TableChangeReader.rowType(type);
			Object payload = (rowType != null) ? this.tableChanges.read(event, rowType) : read(event.payload(), type);
			if (payload != null) {
				return payload;
			}
		}
		catch (JacksonException ex) {
			throw unreadable(event, type, ex.getOriginalMessage(), ex);
		}
		throw unreadable(event, type, "it is " + event.payload(), null);
	}

	private @Nullable Object read(String json, Type type) {
		if (type == String.class) {
			JsonNode node = this.mapper.readTree(json);
			return node.isString() ? node.stringValue() : json;
		}
		return this.mapper.readValue(json, this.mapper.constructType(type));
	}

	private static UnreadableEventException unreadable(Event<String> event, Type type, String reason,
			@Nullable Throwable cause) {
		return new UnreadableEventException("The payload of event " + event.id() + " of type \"" + event.type()
				+ "\" in stream \"" + event.stream() + "\" cannot be read as " + type.getTypeName() + ": " + reason,
				cause);
	}

	/** Headers that SQL has written may have values that are no strings. */
	private Map<String, String> readHeaders(@Nullable String headers) {
		if (headers == null) {
			return Map.of();
		}
		Headers last = this.lastHeaders;
		if (!headers.equals(last.json())) {
			last = new Headers(headers, parseHeaders(headers));
			this.lastHeaders = last;
		}
		return last.values();
	}

	private Map<String, String> parseHeaders(String headers) {
		Map<String, String> result = new LinkedHashMap<>();
		this.mapper.readTree(headers)
			.properties()
			.forEach((header) -> result.put(header.getKey(),
					header.getValue().isString() ? header.getValue().stringValue() : header.getValue().toString()));
		return Map.copyOf(result);
	}

	private record Headers(String json, Map<String, String> values) {

	}

}
