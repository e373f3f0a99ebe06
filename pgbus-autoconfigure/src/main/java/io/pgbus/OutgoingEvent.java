package io.pgbus;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * An event to publish: <pre class="code">
 * OutgoingEvent.to("orders").key("42").type("order.placed").header("tenant", "x").payload(order)
 * </pre>
 *
 * @param stream the stream's name
 * @param key the key; {@code null} if the order does not matter
 * @param type the type name; {@code null} to derive it from the payload's class
 * @param headers the headers, in no particular order
 * @param payload the payload, written as JSON
 * @since 0.1.0
 */
public record OutgoingEvent(String stream, @Nullable String key, @Nullable String type, Map<String, String> headers,
		Object payload) {

	/** The most characters that a stream, a group, or a type may have in its name. */
	public static final int MAX_NAME_LENGTH = 200;

	/** The most characters that a key may have. */
	public static final int MAX_KEY_LENGTH = 1000;

	/** The most bytes that a key may have in UTF-8, as it becomes part of an index. */
	public static final int MAX_KEY_BYTES = 2000;

	/**
	 * Checks what can be checked without writing the payload.
	 * @throws InvalidEventException if a part is missing, blank, too long, or holds a
	 * character that PostgreSQL cannot store
	 */
	@SuppressWarnings("ConstantValue")
	public OutgoingEvent {
		requireText("stream", stream, MAX_NAME_LENGTH);
		if (key != null) {
			requireText("key", key, MAX_KEY_LENGTH);
			if (key.getBytes(StandardCharsets.UTF_8).length > MAX_KEY_BYTES) {
				throw new InvalidEventException("The key of an event has more than " + MAX_KEY_BYTES
						+ " bytes in UTF-8; it begins with \"" + beginning(key) + "\".");
			}
		}
		if (type != null) {
			requireText("type", type, MAX_NAME_LENGTH);
		}
		headers.forEach(OutgoingEvent::requireHeader);
		headers = Map.copyOf(headers);
		if (payload == null) {
			throw new InvalidEventException("The payload of an event for stream \"" + stream
					+ "\" is null. Publish an object; an event without content can carry an empty Map.");
		}
	}

	/**
	 * Starts an event.
	 * @param stream the stream's name, 1 to 200 characters
	 * @return a builder, completed by its {@code payload} method
	 */
	public static Builder to(String stream) {
		return new Builder(stream);
	}

	private static void requireHeader(String name, String value) {
		requireText("header name", name, MAX_NAME_LENGTH);
		if (value == null) {
			throw new InvalidEventException("The header \"" + name + "\" is null. Leave it out.");
		}
		requireStorable("value of the header \"" + name + "\"", value);
	}

	static void requireText(String what, @Nullable String text, int maxLength) {
		if (text == null || text.isBlank()) {
			throw new InvalidEventException("The " + what + " of an event is null or blank. It needs 1 to " + maxLength
					+ " characters, not all of them white space.");
		}
		if (text.codePointCount(0, text.length()) > maxLength) {
			throw new InvalidEventException("The " + what + " of an event has more than " + maxLength
					+ " characters; it begins with \"" + beginning(text) + "\".");
		}
		requireStorable(what, text);
	}

	private static String beginning(String text) {
		return text.substring(0, text.offsetByCodePoints(0, 50));
	}

	/** The driver would silently put a question mark in the place of half a pair. */
	private static void requireStorable(String what, String text) {
		if (text.indexOf('\0') >= 0) {
			throw new InvalidEventException(
					"The " + what + " of an event has the character \\u0000, which PostgreSQL cannot store.");
		}
		if (text.codePoints().anyMatch((c) -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)) {
			throw new InvalidEventException("The " + what
					+ " of an event has half of a surrogate pair, which is no character and cannot be stored.");
		}
	}

	/**
	 * Collects the parts of an {@link OutgoingEvent}.
	 */
	public static final class Builder {

		private final String stream;

		private @Nullable String key;

		private @Nullable String type;

		private final Map<String, String> headers = new LinkedHashMap<>();

		private Builder(String stream) {
			this.stream = stream;
		}

		/**
		 * Sets the key. Events of one stream with the same key are delivered in order.
		 * @param key the key, 1 to 1,000 characters of at most 2,000 bytes in UTF-8, or
		 * {@code null} for none
		 * @return this builder
		 */
		public Builder key(@Nullable String key) {
			this.key = key;
			return this;
		}

		/**
		 * Sets the type name, in place of the one derived from the payload's class.
		 * @param type the type name, 1 to 200 characters
		 * @return this builder
		 */
		public Builder type(String type) {
			this.type = type;
			return this;
		}

		/**
		 * Adds a header.
		 * @param name the name, 1 to 200 characters
		 * @param value the value
		 * @return this builder
		 */
		public Builder header(String name, String value) {
			this.headers.put(name, value);
			return this;
		}

		/**
		 * Completes the event.
		 * @param payload the payload, written as JSON when the event is published
		 * @return the event
		 * @throws InvalidEventException if a part is missing, blank or too long
		 */
		public OutgoingEvent payload(Object payload) {
			return new OutgoingEvent(this.stream, this.key, this.type, this.headers, payload);
		}

	}

}
