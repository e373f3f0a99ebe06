package io.pgbus.store;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;

/**
 * Makes a condition of a list of primary keys. PostgreSQL reads the values as those of
 * the columns, and writes the literals.
 */
final class BackfillKeys {

	private static final long TIMEOUT_MILLIS = 30_000;

	private final BusDatabase database;

	private final BackfillTable table;

	BackfillKeys(BusDatabase database, BackfillTable table) {
		this.database = database;
		this.table = table;
	}

	/**
	 * Returns a condition on the columns of a row, under the table's name.
	 * @param keys the keys, as {@link io.pgbus.BackfillRequest#keys(Collection)} has them
	 * @param filter what else must hold, or {@code null}
	 * @return the condition
	 * @throws IllegalArgumentException if one is no key of the table
	 */
	String condition(Collection<?> keys, @Nullable String filter) {
		List<List<String>> values = keys.stream().map(this::values).toList();
		String columns = this.table.keyNames()
			.stream()
			.map((name) -> RowSql.quote(this.table.relation().name()) + '.' + RowSql.quote(name))
			.collect(Collectors.joining(", ", "(", ")"));
		List<String> literals = literals(values);
		// a list of rows would be as many conditions
		boolean isRows = this.table.key().size() > 1;
		String condition = columns + " in (" + (isRows ? "values " : "") + String.join(", ", literals) + ")";
		return (filter != null) ? "(\n" + filter + "\n) and " + condition : condition;
	}

	private List<String> values(Object key) {
		List<String> names = this.table.keyNames();
		List<?> values = (key instanceof Map<?, ?> map) ? valuesOf(map)
				: (key instanceof Collection<?> several) ? new ArrayList<>(several) : List.of(key);
		if (values.size() != names.size() || values.stream().anyMatch(Objects::isNull)) {
			throw new IllegalArgumentException("A backfill of " + this.table.qualifiedName() + " names the key " + key
					+ ", but the primary key is " + names
					+ ". Give a value for each column: as a list in this order, or by their names.");
		}
		return values.stream().map(BackfillKeys::text).toList();
	}

	private List<?> valuesOf(Map<?, ?> map) {
		List<String> names = this.table.keyNames();
		List<@Nullable Object> values = new ArrayList<>();
		if (map.size() == names.size()) {
			names.forEach((name) -> values.add(map.get(name)));
		}
		return values;
	}

	private static String text(Object value) {
		return (value instanceof byte[] bytes) ? "\\x" + HexFormat.of().formatHex(bytes) : value.toString();
	}

	private List<String> literals(List<List<String>> values) {
		List<Integer> columns = IntStream.range(0, this.table.key().size()).boxed().toList();
		List<String> types = this.table.key().stream().map(this.table::keyType).toList();
		String sql = "select "
				+ columns.stream()
					.map((column) -> "pg_catalog.quote_literal(\"#" + column + "\"::" + types.get(column) + "::text)")
					.collect(Collectors.joining(", "))
				+ " from unnest(" + columns.stream().map((column) -> "?::text[]").collect(Collectors.joining(", "))
				+ ") with ordinality as k("
				+ columns.stream().map((column) -> "\"#" + column + "\", ").collect(Collectors.joining())
				+ "\"#n\") order by \"#n\"";
		List<String[]> arrays = columns.stream()
			.map((column) -> values.stream().map((key) -> key.get(column)).toArray(String[]::new))
			.toList();
		try {
			return Objects.requireNonNull(this.database.ownTransaction().execute((status) -> {
				this.database.own(RowSql.settings(TIMEOUT_MILLIS)).query().listOfRows();
				return this.database.ownVerbatim(sql).params(arrays).query((row, index) -> {
					List<String> parts = new ArrayList<>();
					for (int column : columns) {
						parts.add(row.getString(column + 1) + "::" + types.get(column));
					}
					return "(" + String.join(", ", parts) + ")";
				}).list();
			}));
		}
		catch (DataAccessException ex) {
			if (DatabaseTrouble.of(ex) != DatabaseTrouble.NONE) {
				throw ex;
			}
			throw new IllegalArgumentException(
					"A backfill of " + this.table.qualifiedName() + " names a key that is none of "
							+ this.table.keyNames() + ": " + ex.getMostSpecificCause().getMessage(),
					ex);
		}
	}

}
