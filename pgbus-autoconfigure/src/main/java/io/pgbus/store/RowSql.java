package io.pgbus.store;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Makes the statements that give the rows of a relation their types. The values of each
 * column come as one array of text, behind an array with the numbers of the rows.
 * <p>
 * Names that this makes up have a # in them, so that no filter takes one for a column.
 */
final class RowSql {

	/**
	 * Under these the text of a value means the same as in the stream, and its JSON is
	 * the same on every connection.
	 */
	private static final String SETTINGS = """
			select set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO, MDY', true),
				set_config('IntervalStyle', 'postgres', true), set_config('bytea_output', 'hex', true),
				set_config('extra_float_digits', '1', true), set_config('xmloption', 'content', true),
				set_config('jit', 'off', true), set_config('statement_timeout', '%d', true)
			""";

	/** What PostgreSQL says when it meets a value that is not there. */
	static final String NOT_KNOWN = "pgbus: not known: ";

	private final TypedRelation table;

	private final Set<Integer> missing;

	/**
	 * Creates the maker.
	 * @param table the relation
	 * @param missing the indexes of columns without values
	 */
	RowSql(TypedRelation table, Set<Integer> missing) {
		this.table = table;
		this.missing = missing;
	}

	static String settings(long timeoutMillis) {
		return SETTINGS.formatted(timeoutMillis);
	}

	/**
	 * Returns the columns whose arrays the statements have as parameters.
	 */
	List<Integer> columns() {
		return IntStream.range(0, this.table.types().size())
			.filter((column) -> !this.missing.contains(column))
			.boxed()
			.toList();
	}

	/**
	 * Asks filters, and makes the JSON of the rows that match one of them, or of every
	 * row. The result has the number of the row, its JSON, that of each key column, and
	 * what each filter says.
	 * @param filters the filters
	 * @param always whether JSON is made of every row
	 * @return the statement
	 */
	String rows(List<String> filters, boolean always) {
		String matches = IntStream.range(0, filters.size())
			.mapToObj((filter) -> "\"#n\".\"#f" + filter + "\"")
			.collect(Collectors.joining(" or "));
		String wanted = always ? "true" : filters.isEmpty() ? "false" : matches;
		StringBuilder outer = new StringBuilder("select \"#n\".\"#i\", case when ").append(wanted)
			.append(" then pg_catalog.to_jsonb(\"#r\")::text end as \"#json\"");
		for (int column : this.table.key()) {
			if (!this.missing.contains(column)) {
				outer.append(", case when ")
					.append(wanted)
					.append(" then pg_catalog.to_jsonb(\"#r\".")
					.append(name(column))
					.append(")::text end as \"#k")
					.append(column)
					.append('"');
			}
		}
		for (int filter = 0; filter < filters.size(); filter++) {
			outer.append(", \"#n\".\"#f").append(filter).append('"');
		}
		return outer + "\nfrom " + asked(filters) + "\ncross join lateral (select "
				+ list((column) -> "\"#n\".\"#" + column + "\"::" + type(column).stored() + " as " + name(column),
						columns())
				+ ") as \"#r\"";
	}

	/** Asks filters only. */
	String matches(List<String> filters) {
		return "select * from " + asked(filters);
	}

	/** Makes the JSON of one column only. */
	String column(int column) {
		return "select \"#i\", pg_catalog.to_jsonb(\"#0\"::" + type(column).stored()
				+ ")::text from unnest(?::integer[], ?::text[]) as \"#n\"(\"#i\", \"#0\")";
	}

	/** The rows as text, with what the filters say of them. */
	private String asked(List<String> filters) {
		List<Integer> columns = columns();
		String source = "unnest(?::integer[]" + ", ?::text[]".repeat(columns.size()) + ") as \"#n\"(\"#i\""
				+ columns.stream().map((column) -> ", \"#" + column + '"').collect(Collectors.joining()) + ')';
		if (filters.isEmpty()) {
			return source;
		}
		StringBuilder asked = new StringBuilder("(select *");
		for (int i = 0; i < filters.size(); i++) {
			asked.append(",\ncoalesce((select (\n")
				.append(EventFilter.asExpression(filters.get(i), false))
				.append("\n)::boolean from (select ")
				.append(list(this::filtered, allColumns()))
				.append(") as ")
				.append(quote(this.table.relation().name()))
				.append("), false) as \"#f")
				.append(i)
				.append('"');
		}
		// computed once for each row
		return asked + "\nfrom " + source + " offset 0) as \"#n\"";
	}

	/**
	 * The value that a filter sees. One that is not there fails, but only where the
	 * filter asks for it.
	 */
	private String filtered(int column) {
		if (this.missing.contains(column)) {
			String complaint = '\''
					+ (NOT_KNOWN + this.table.relation().columns().get(column).name()).replace("'", "''") + '\'';
			return "(" + escaped(complaint) + " || \"#n\".\"#i\")::integer::text::" + type(column).declared() + " as "
					+ name(column);
		}
		return "\"#n\".\"#" + column + "\"::" + type(column).declared() + " as " + name(column);
	}

	/** With a backslash a literal would depend on standard_conforming_strings. */
	private static String escaped(String literal) {
		return (literal.indexOf('\\') >= 0) ? "E" + literal.replace("\\", "\\\\") : literal;
	}

	private List<Integer> allColumns() {
		return IntStream.range(0, this.table.types().size()).boxed().toList();
	}

	private static String list(IntFunction<String> column, List<Integer> columns) {
		List<String> parts = new ArrayList<>();
		columns.forEach((index) -> parts.add(column.apply(index)));
		return String.join(", ", parts);
	}

	private TypedRelation.Type type(int column) {
		return this.table.types().get(column);
	}

	private String name(int column) {
		return quote(this.table.relation().columns().get(column).name());
	}

	static String quote(String name) {
		return '"' + name.replace("\"", "\"\"") + '"';
	}

}
