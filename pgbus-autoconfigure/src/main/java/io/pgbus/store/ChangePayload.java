package io.pgbus.store;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

import io.pgbus.OutgoingEvent;
import org.jspecify.annotations.Nullable;

/**
 * Writes the JSON of a change's event. What is in it comes from the database as JSON
 * text.
 */
final class ChangePayload {

	/** The key of what has none of its own. */
	static final String NO_KEY = "*";

	private static final char FIRST_PLAIN = ' ';

	private static final int USUAL_SIZE = 512;

	private final StringBuilder json = new StringBuilder(USUAL_SIZE).append('{');

	ChangePayload text(String name, String value) {
		quote(next(name), value);
		return this;
	}

	ChangePayload raw(String name, @Nullable String value) {
		if (value != null) {
			next(name).append(value);
		}
		return this;
	}

	private StringBuilder next(String name) {
		return quote(next(), name).append(": ");
	}

	private StringBuilder next() {
		return (this.json.length() > 1) ? this.json.append(", ") : this.json;
	}

	/** Takes members that another payload has made. */
	ChangePayload members(String members) {
		next().append(members);
		return this;
	}

	String members() {
		return this.json.substring(1);
	}

	ChangePayload names(String name, Collection<String> values) {
		return raw(name, values.isEmpty() ? null : list(values));
	}

	static String list(Collection<String> values) {
		return values.stream().map(ChangePayload::quote).toList().toString();
	}

	@Override
	public String toString() {
		return this.json + "}";
	}

	/**
	 * Returns a row's key as an object, or {@code null} if it has none.
	 */
	static @Nullable String keyObject(TypedRelation table, @Nullable RowImage image) {
		if (image == null || table.key().isEmpty()) {
			return null;
		}
		ChangePayload key = new ChangePayload();
		table.key().forEach((column) -> key.raw(table.relation().columns().get(column).name(), keyPart(image, column)));
		return key.toString();
	}

	/**
	 * Returns a row's key as the key of an event.
	 */
	static String eventKey(TypedRelation table, RowImage image) {
		if (table.key().isEmpty()) {
			return NO_KEY;
		}
		String key = table.key().stream().map((column) -> keyPart(image, column)).toList().toString();
		byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
		boolean fits = bytes.length <= OutgoingEvent.MAX_KEY_BYTES
				&& key.codePointCount(0, key.length()) <= OutgoingEvent.MAX_KEY_LENGTH;
		return fits ? key : "sha256:" + hash(bytes);
	}

	/**
	 * A value that cannot be converted still is the same text in all changes of a row.
	 */
	private static String keyPart(RowImage image, int column) {
		String part = image.keyPart(column);
		if (part != null) {
			return part;
		}
		String value = image.value(column);
		return (value != null) ? quote(value) : "null";
	}

	static String headers(Map<Integer, String> outcomes) {
		ChangePayload headers = new ChangePayload();
		outcomes.forEach((groupId, outcome) -> headers.text(TableListenerStore.header(groupId), outcome));
		return headers.toString();
	}

	static List<String> names(Relation relation, Collection<Integer> columns) {
		return columns.isEmpty() ? List.of()
				: columns.stream().sorted().map((column) -> relation.columns().get(column).name()).toList();
	}

	static String quote(String text) {
		return quote(new StringBuilder(text.length() + 2), text).toString();
	}

	private static StringBuilder quote(StringBuilder quoted, String text) {
		quoted.append('"');
		for (int i = 0; i < text.length(); i++) {
			char c = text.charAt(i);
			if (c == '"' || c == '\\') {
				quoted.append('\\').append(c);
			}
			else if (c < FIRST_PLAIN) {
				quoted.append("\\u00").append(HexFormat.of().toHexDigits((byte) c));
			}
			else {
				quoted.append(c);
			}
		}
		return quoted.append('"');
	}

	private static String hash(byte[] bytes) {
		try {
			return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException("Every Java has SHA-256", ex);
		}
	}

}
