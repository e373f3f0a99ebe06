package io.pgbus;

import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.Locale;

/**
 * Where a consumer group starts when it is made, or is moved to by a seek.
 *
 * @since 0.1.0
 */
public sealed interface StartPosition {

	/**
	 * After everything that is committed now.
	 * @return the position
	 */
	static StartPosition latest() {
		return new Latest();
	}

	/**
	 * At the first event that is still kept.
	 * @return the position
	 */
	static StartPosition earliest() {
		return new Earliest();
	}

	/**
	 * At the first event published at an instant or later.
	 * @param instant the instant, by the database's clock
	 * @return the position
	 */
	static StartPosition at(Instant instant) {
		return new AtInstant(instant);
	}

	/**
	 * At an event.
	 * @param eventId the id of the first event to deliver
	 * @return the position
	 */
	static StartPosition at(long eventId) {
		return new AtEvent(eventId);
	}

	/**
	 * Reads a position from text.
	 * @param text {@code latest}, {@code earliest}, an ISO-8601 instant such as
	 * {@code 2026-01-31T12:00:00Z} (an offset is allowed), or an event id
	 * @return the position
	 * @throws IllegalArgumentException if the text is none of these
	 */
	static StartPosition parse(String text) {
		String trimmed = text.trim();
		switch (trimmed.toLowerCase(Locale.ROOT)) {
			case "latest" -> {
				return latest();
			}
			case "earliest" -> {
				return earliest();
			}
			default -> {
				// an id or an instant
			}
		}
		try {
			return trimmed.matches("\\d{1,18}") ? at(Long.parseLong(trimmed))
					: at(OffsetDateTime.parse(trimmed).toInstant());
		}
		catch (DateTimeParseException ex) {
			throw new IllegalArgumentException("\"" + text + "\" is no start position. Use latest, earliest, "
					+ "an ISO-8601 instant such as 2026-01-31T12:00:00Z, or an event id.", ex);
		}
	}

	/** After everything that is committed now. */
	record Latest() implements StartPosition {
	}

	/** At the first event that is still kept. */
	record Earliest() implements StartPosition {
	}

	/**
	 * At the first event published at an instant or later.
	 *
	 * @param instant the instant
	 */
	record AtInstant(Instant instant) implements StartPosition {
	}

	/**
	 * At an event.
	 *
	 * @param eventId the id of the first event to deliver
	 */
	record AtEvent(long eventId) implements StartPosition {
	}

}
