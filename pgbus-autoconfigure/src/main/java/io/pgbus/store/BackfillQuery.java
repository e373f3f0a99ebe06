package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

/**
 * Makes the statements that read the rows of a backfill. Values come as the text that the
 * stream of changes would have, so that they become JSON in the same way. Keys are
 * compared by PostgreSQL, as values of the column's own type and collation.
 * <p>
 * Names that this makes up have a # in them. Parameters are question marks: only the
 * driver looks for them, so the query and the filter may hold any literal.
 */
final class BackfillQuery {

	private final BackfillTable table;

	private final String source;

	private final String filter;

	private final Set<String> yielded;

	/**
	 * Creates the maker.
	 * @param table the table
	 * @param query a select, or {@code null} for the whole table
	 * @param filter a condition, or {@code null} for every row
	 * @param yielded the columns that the query yields
	 * @throws IllegalArgumentException if the query is not one select, or the filter not
	 * one expression
	 */
	BackfillQuery(BackfillTable table, @Nullable String query, @Nullable String filter, Set<String> yielded) {
		this.table = table;
		this.source = (query != null) ? "(\n" + SqlText.asOnePart("backfill query", query, false) + "\n)"
				: RowSql.quote(table.relation().schema()) + '.' + RowSql.quote(table.relation().name());
		this.filter = (filter != null) ? "(\n" + EventFilter.asExpression(filter, false) + "\n)" : "true";
		this.yielded = yielded;
	}

	BackfillTable table() {
		return this.table;
	}

	/** The indexes of the columns of the table that the query does not yield. */
	Set<Integer> missing() {
		List<Relation.Column> columns = this.table.relation().columns();
		Set<Integer> missing = new LinkedHashSet<>();
		for (int i = 0; i < columns.size(); i++) {
			if (!this.yielded.contains(columns.get(i).name())) {
				missing.add(i);
			}
		}
		return missing;
	}

	/** Tells its columns by their names, and reads no row. */
	String columns() {
		return "select * from " + this.source + " as " + alias() + " limit 0";
	}

	static Set<String> columnNames(ResultSet row) throws SQLException {
		Set<String> names = new LinkedHashSet<>();
		for (int i = 1; i <= row.getMetaData().getColumnCount(); i++) {
			names.add(row.getMetaData().getColumnLabel(i));
		}
		return names;
	}

	/** Tells the types of the key's columns, and those of the table's. */
	String keyTypes() {
		String relation = RowSql.quote(this.table.relation().schema()) + '.'
				+ RowSql.quote(this.table.relation().name());
		return "select "
				+ list(this.table.key(),
						(column) -> "pg_catalog.pg_typeof(\"#q\"." + name(column)
								+ ")::text, pg_catalog.pg_typeof(\"#t\"." + name(column) + ")::text")
				+ " from (select 1) as \"#1\" left join " + this.source + " as \"#q\" on false left join " + relation
				+ " as \"#t\" on false";
	}

	/** All rows, for the planner. */
	String all() {
		return "select * from " + this.source + " as " + alias() + " where " + this.filter;
	}

	/**
	 * Reads the next rows by the primary key's order, up to so many, and to so many
	 * bytes. The first column is the snapshot, the second how many rows there were but
	 * for the bytes; then come the values.
	 * @param hasLower whether only rows behind a key are read
	 * @param hasUpper whether only rows up to a key are read
	 * @return the statement, with the parameters of {@link #parameters}
	 */
	String read(boolean hasLower, boolean hasUpper) {
		List<Integer> key = this.table.key();
		String order = list(key, (column) -> alias() + '.' + name(column));
		String keyColumns = (key.size() > 1) ? "(" + order + ")" : order;
		StringBuilder inner = new StringBuilder("select * from ").append(this.source)
			.append(" as ")
			.append(alias())
			.append("\nwhere ")
			.append(this.filter);
		key.forEach((column) -> inner.append(" and ")
			.append(alias())
			.append('.')
			.append(name(column))
			.append(" is not null"));
		if (hasLower) {
			inner.append(" and ").append(keyColumns).append(" > ").append(bound());
		}
		if (hasUpper) {
			inner.append(" and ").append(keyColumns).append(" <= ").append(bound());
		}
		inner.append("\norder by ").append(order).append(" limit ?");
		List<Integer> columns = columnsOfRows();
		String numbers = list(key, (column) -> "\"#o" + column + '"');
		return "select pg_catalog.pg_current_snapshot()::text as \"#snapshot\", \"#total\", "
				+ list(columns, (column) -> "\"#" + column + '"')
				+ "\nfrom (\nselect *, pg_catalog.row_number() over \"#w\" as \"#n\", "
				+ "pg_catalog.count(*) over () as \"#total\", pg_catalog.sum("
				+ columns.stream()
					.map((column) -> "coalesce(pg_catalog.octet_length(\"#" + column + "\"), 0)")
					.collect(Collectors.joining(" + "))
				+ ") over (\"#w\" rows unbounded preceding) as \"#bytes\"\nfrom (\nselect "
				+ list(key, (column) -> "\"#q\"." + name(column) + " as \"#o" + column + '"') + ", "
				+ list(columns, (column) -> text(column) + " as \"#" + column + '"') + "\nfrom (\n" + inner
				+ "\n) as \"#q\"\n) as \"#t\" window \"#w\" as (order by " + numbers
				+ ")\n) as \"#u\" where \"#bytes\" <= ? or \"#n\" = 1 order by \"#n\"";
	}

	/** The columns whose values {@link #read} has, in this order. */
	List<Integer> columnsOfRows() {
		Set<Integer> missing = missing();
		List<Integer> columns = new ArrayList<>();
		for (int i = 0; i < this.table.relation().columns().size(); i++) {
			if (!missing.contains(i)) {
				columns.add(i);
			}
		}
		return columns;
	}

	List<Object> parameters(@Nullable List<String> lower, @Nullable List<String> upper, int rows, long bytes) {
		List<Object> parameters = new ArrayList<>();
		if (lower != null) {
			parameters.addAll(lower);
		}
		if (upper != null) {
			parameters.addAll(upper);
		}
		parameters.add(rows);
		parameters.add(bytes);
		return parameters;
	}

	/**
	 * What the output function of the type says. A composite of nulls is not null itself.
	 */
	private String text(int column) {
		String value = "\"#q\"." + name(column);
		return "case when pg_catalog.num_nulls(" + value + ") = 0 then pg_catalog.format('%s', " + value + ") end";
	}

	private String bound() {
		String values = list(this.table.key(), (column) -> "?::" + this.table.keyType(column));
		return (this.table.key().size() > 1) ? "(" + values + ")" : values;
	}

	private String alias() {
		return RowSql.quote(this.table.relation().name());
	}

	private String name(int column) {
		return RowSql.quote(this.table.relation().columns().get(column).name());
	}

	private static String list(List<Integer> columns, IntFunction<String> column) {
		return columns.stream().map(column::apply).collect(Collectors.joining(", "));
	}

}
