package io.pgbus.replication;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.pgbus.TableOperation;
import io.pgbus.replication.PgOutputMessage.Begin;
import io.pgbus.replication.PgOutputMessage.Change;
import io.pgbus.replication.PgOutputMessage.Commit;
import io.pgbus.replication.PgOutputMessage.Other;
import io.pgbus.replication.PgOutputMessage.Truncate;
import io.pgbus.store.Relation;
import io.pgbus.store.RowChange.Row;
import org.jspecify.annotations.Nullable;

/**
 * Reads the messages of the plugin {@code pgoutput}, version 1 of its protocol, with
 * values as text. Remembers the tables that the stream has described, so each stream
 * needs a decoder of its own.
 */
final class PgOutputDecoder {

	private static final Instant EPOCH = Instant.parse("2000-01-01T00:00:00Z");

	private static final Other OTHER = new Other();

	private final Map<Integer, Relation> relations = new HashMap<>();

	/**
	 * Reads a message.
	 * @param message the message, which is read to its end
	 * @return what it says
	 * @throws IllegalStateException if it is not a message of this protocol
	 */
	PgOutputMessage decode(ByteBuffer message) {
		int start = message.position();
		try {
			return read(message);
		}
		catch (BufferUnderflowException | IndexOutOfBoundsException ex) {
			throw new IllegalStateException(
					"A message of type '%c' ends too early".formatted((char) message.get(start)), ex);
		}
	}

	private PgOutputMessage read(ByteBuffer message) {
		char type = (char) message.get();
		return switch (type) {
			case 'B' -> new Begin(message.getLong(), instant(message.getLong()), message.getInt());
			case 'C' -> commit(message);
			case 'R' -> relation(message);
			case 'I' -> insert(message);
			case 'U' -> update(message);
			case 'D' -> delete(message);
			case 'T' -> truncate(message);
			// types, origins and what applications write to the log with
			// pg_logical_emit_message
			case 'Y', 'O', 'M' -> OTHER;
			default -> throw new IllegalStateException("The protocol has no message of type '" + type + "'");
		};
	}

	private static Commit commit(ByteBuffer message) {
		message.get(); // flags, of which there are none
		message.getLong(); // the commit, as in begin
		return new Commit(message.getLong());
	}

	private Other relation(ByteBuffer message) {
		int id = message.getInt();
		String schema = string(message);
		String name = string(message);
		boolean wholeRows = message.get() == 'f';
		int count = message.getShort();
		List<Relation.Column> columns = new ArrayList<>(count);
		for (int i = 0; i < count; i++) {
			boolean inIdentity = (message.get() & 1) != 0;
			columns.add(new Relation.Column(string(message), message.getInt(), message.getInt(), inIdentity));
		}
		this.relations.put(id, new Relation(id, schema.isEmpty() ? "pg_catalog" : schema, name, wholeRows, columns));
		return OTHER;
	}

	private Change insert(ByteBuffer message) {
		Relation relation = known(message.getInt());
		expect(message.get(), "N");
		return new Change(TableOperation.INSERT, relation, row(message, relation, null), null);
	}

	private Change update(ByteBuffer message) {
		Relation relation = known(message.getInt());
		char kind = expect(message.get(), "KON");
		Row previous = null;
		if (kind != 'N') {
			previous = row(message, relation, null);
			expect(message.get(), "N");
		}
		Row whole = relation.wholeRows() ? previous : null;
		return new Change(TableOperation.UPDATE, relation, row(message, relation, whole), previous);
	}

	private Change delete(ByteBuffer message) {
		Relation relation = known(message.getInt());
		expect(message.get(), "KO");
		return new Change(TableOperation.DELETE, relation, null, row(message, relation, null));
	}

	private Truncate truncate(ByteBuffer message) {
		int count = message.getInt();
		message.get(); // whether it cascaded and restarted sequences
		List<Relation> truncated = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			truncated.add(known(message.getInt()));
		}
		return new Truncate(truncated);
	}

	/**
	 * Reads a row. Large values that an update did not touch are missing from the new
	 * row, but a whole old row has them.
	 */
	private static Row row(ByteBuffer message, Relation relation, @Nullable Row whole) {
		int count = message.getShort();
		if (count != relation.columns().size()) {
			throw new IllegalStateException("A row of \"%s\".\"%s\" has %d values for %d columns"
				.formatted(relation.schema(), relation.name(), count, relation.columns().size()));
		}
		List<@Nullable String> values = new ArrayList<>(count);
		Set<Integer> unchanged = Set.of();
		for (int i = 0; i < count; i++) {
			char kind = expect(message.get(), "tnu");
			if (kind == 'u' && whole != null && !whole.isUnchanged(i)) {
				values.add(whole.values().get(i));
				continue;
			}
			if (kind == 'u') {
				unchanged = unchanged.isEmpty() ? new HashSet<>() : unchanged;
				unchanged.add(i);
			}
			values.add((kind == 't') ? text(message) : null);
		}
		return new Row(values, unchanged);
	}

	private Relation known(int id) {
		Relation relation = this.relations.get(id);
		if (relation == null) {
			throw new IllegalStateException(
					"The stream has not described the table with the oid " + Integer.toUnsignedString(id));
		}
		return relation;
	}

	private static char expect(byte found, String expected) {
		char kind = (char) found;
		if (expected.indexOf(kind) < 0) {
			throw new IllegalStateException("Expected one of '%s' and found '%c'".formatted(expected, kind));
		}
		return kind;
	}

	private static String text(ByteBuffer message) {
		int length = message.getInt();
		if (length < 0 || length > message.remaining()) {
			throw new IllegalStateException(
					"A value has %d bytes, of which %d are there".formatted(length, message.remaining()));
		}
		String text = decoded(message, length);
		message.position(message.position() + length);
		return text;
	}

	private static String string(ByteBuffer message) {
		int length = 0;
		while (message.get(message.position() + length) != 0) {
			length++;
		}
		String text = decoded(message, length);
		message.position(message.position() + length + 1);
		return text;
	}

	private static String decoded(ByteBuffer message, int length) {
		return new String(message.array(), message.arrayOffset() + message.position(), length, StandardCharsets.UTF_8);
	}

	private static Instant instant(long microseconds) {
		return EPOCH.plus(Duration.of(microseconds, ChronoUnit.MICROS));
	}

}
