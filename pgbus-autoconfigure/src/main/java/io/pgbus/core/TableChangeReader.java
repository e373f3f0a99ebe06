package io.pgbus.core;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

import io.pgbus.Event;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.UnreadableEventException;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.cfg.JsonNodeFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * Reads events of table streams as changes. Rows are read with the names of columns in
 * snake case standing for properties in camel case; columns that the class does not know
 * are passed over.
 */
final class TableChangeReader {

	/** The header that says what a change is to the group that reads it. */
	static final String OUTCOME = "pgbus-outcome";

	private static final String LEAVES = "leaves";

	private static final String ERROR = "error: ";

	private final JsonMapper rows;

	TableChangeReader(JsonMapper mapper) {
		this.rows = mapper.rebuild()
			.propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
			// a numeric has more digits than a double
			.enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
			.disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
			.disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
			.disable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
			.disable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
			.build();
	}

	/** The type of rows if the type is that of a change, or {@code null}. */
	static @Nullable Type rowType(Type type) {
		if (type == TableChange.class) {
			return JsonNode.class;
		}
		if (type instanceof ParameterizedType parameterized && parameterized.getRawType() == TableChange.class) {
			Type row = parameterized.getActualTypeArguments()[0];
			return (row instanceof Class<?> || row instanceof ParameterizedType) && row != Object.class ? row
					: JsonNode.class;
		}
		return null;
	}

	/** Returns what the change is to the group, or empty. */
	static String checkOutcome(Event<?> event) {
		String outcome = event.headers().getOrDefault(OUTCOME, "");
		if (outcome.startsWith(ERROR)) {
			throw new UnreadableEventException("Whether event " + event.id() + " of stream \"" + event.stream()
					+ "\" is for this group could not be " + "told, since the filter failed on it: "
					+ outcome.substring(ERROR.length()), null);
		}
		return outcome;
	}

	TableChange<Object> read(Event<String> event, Type rowType) {
		String outcome = checkOutcome(event);
		JsonNode change = this.rows.readTree(event.payload());
		JavaType type = this.rows.constructType(rowType);
		JsonNode previous = change.path("previous");
		return new TableChange<>(operation(event), change.path("table").asString(), values(change.path("key")),
				row(change.path("record"), type), row(previous, type),
				previous.isObject() ? new LinkedHashSet<>(previous.propertyNames()) : Set.of(),
				change.has("changed") ? names(change.path("changed")) : null, names(change.path("unavailable")),
				names(change.path("refetched")), LEAVES.equals(outcome), valuesOrNull(change.path("movedFrom")),
				valuesOrNull(change.path("movedTo")), origin(change),
				change.has("backfill") ? change.path("backfill").asLong() : null);
	}

	/** Other events may be in a stream to which changes are published. */
	private static TableOperation operation(Event<String> event) {
		try {
			return TableOperation.valueOf(event.type().toUpperCase(Locale.ROOT));
		}
		catch (IllegalArgumentException ex) {
			throw new UnreadableEventException("Event " + event.id() + " of stream \"" + event.stream()
					+ "\" is no change of a table: its type is \"" + event.type() + "\"", ex);
		}
	}

	private @Nullable Object row(JsonNode row, JavaType type) {
		return row.isObject() ? this.rows.treeToValue(row, type) : null;
	}

	private @Nullable Map<String, @Nullable Object> valuesOrNull(JsonNode node) {
		return node.isObject() ? values(node) : null;
	}

	private Map<String, @Nullable Object> values(JsonNode node) {
		Map<String, @Nullable Object> values = new LinkedHashMap<>();
		if (node.isObject()) {
			node.properties()
				.forEach((entry) -> values.put(entry.getKey(), this.rows.treeToValue(entry.getValue(), Object.class)));
		}
		return Collections.unmodifiableMap(values);
	}

	private static Set<String> names(JsonNode node) {
		Set<String> names = new LinkedHashSet<>();
		node.forEach((name) -> names.add(name.asString()));
		return Collections.unmodifiableSet(names);
	}

	private static TableChange.@Nullable Origin origin(JsonNode change) {
		if (!change.has("lsn")) {
			return null;
		}
		return new TableChange.Origin(Instant.parse(change.path("committedAt").asString()),
				Long.parseUnsignedLong(change.path("xid").asString("0")), change.path("lsn").asString(),
				change.path("ordinal").asLong());
	}

}
