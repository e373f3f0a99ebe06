package io.pgbus;

import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.Set;

import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * A table that a group listens to, and which of its changes the group wants.
 *
 * @param name the name of the table as SQL has it: perhaps with a schema, in quotes where
 * it has upper-case letters
 * @param filter a condition in SQL on the columns of a row, under the table's name, or
 * {@code null} for every row
 * @param operations the operations; deletes and truncates are not among the default ones
 * @param columns of which columns an update must have changed at least one; empty for any
 * @param backfill the rows to begin with, or {@code null} for changes only
 * @since 0.1.0
 */
public record ListenedTable(String name, @Nullable String filter, Set<TableOperation> operations, Set<String> columns,
		@Nullable TableBackfill backfill) {

	/** The operations by default. */
	public static final Set<TableOperation> DEFAULT_OPERATIONS = Set.of(TableOperation.INSERT, TableOperation.UPDATE);

	/**
	 * Checks the parts.
	 * @throws IllegalArgumentException if the name is blank or there is no operation
	 */
	public ListenedTable {
		Assert.hasText(name, "A table listener names a table that is blank");
		Assert.notEmpty(operations, () -> "The table listener for \"" + name + "\" has no operation");
		operations = Set.copyOf(EnumSet.copyOf(operations));
		columns = Set.copyOf(new LinkedHashSet<>(columns));
	}

	/**
	 * Creates a table without a backfill.
	 * @param name the name of the table
	 * @param filter a condition, or {@code null} for every row
	 * @param operations the operations
	 * @param columns of which columns an update must have changed at least one
	 */
	public ListenedTable(String name, @Nullable String filter, Set<TableOperation> operations, Set<String> columns) {
		this(name, filter, operations, columns, null);
	}

	/**
	 * Tells whether changes of the table are wanted. If the only operation is
	 * {@link TableOperation#READ}, rows are read from the table and nothing else.
	 * @return whether they are
	 */
	public boolean wantsChanges() {
		return !this.operations.equals(Set.of(TableOperation.READ));
	}

	/**
	 * Tells whether the name means a table. One without a schema means a table of this
	 * name in any.
	 * @param table the table with its schema, as they are without quotes
	 * @return whether it does
	 */
	public boolean matches(String table) {
		StringBuilder unquoted = new StringBuilder();
		boolean quoted = false;
		for (char c : this.name.trim().toCharArray()) {
			if (c == '"') {
				quoted = !quoted;
			}
			else {
				unquoted.append(quoted ? c : Character.toLowerCase(c));
			}
		}
		return table.equals(unquoted.toString()) || table.endsWith("." + unquoted);
	}

	/**
	 * Returns a table of which every insert and update is wanted.
	 * @param name the name of the table
	 * @return the table
	 */
	public static ListenedTable of(String name) {
		return new ListenedTable(name, null, DEFAULT_OPERATIONS, Set.of());
	}

	/**
	 * Returns this table with a filter.
	 * @param filter the condition, or {@code null} for every row
	 * @return the table
	 */
	public ListenedTable filter(@Nullable String filter) {
		return new ListenedTable(this.name, filter, this.operations, this.columns, this.backfill);
	}

	/**
	 * Returns this table with other operations.
	 * @param operations the operations
	 * @return the table
	 */
	public ListenedTable operations(TableOperation... operations) {
		return new ListenedTable(this.name, this.filter, Set.of(operations), this.columns, this.backfill);
	}

	/**
	 * Returns this table with columns of which an update must have changed one.
	 * @param columns the names of the columns, as they are without quotes
	 * @return the table
	 */
	public ListenedTable columns(String... columns) {
		return new ListenedTable(this.name, this.filter, this.operations, Set.of(columns), this.backfill);
	}

	/**
	 * Returns this table with rows to begin with: those that the query yields come first,
	 * then the changes.
	 * @param query a select that yields the rows: the primary key's columns, and the
	 * others that are wanted, by their names
	 * @return the table
	 */
	public ListenedTable backfill(String query) {
		return backfill(new TableBackfill(query, LiveChanges.AFTER_BACKFILL, TableBackfill.DEFAULT_NAME));
	}

	/**
	 * Returns this table with rows to begin with.
	 * @param backfill the rows, or {@code null} for changes only
	 * @return the table
	 */
	public ListenedTable backfill(@Nullable TableBackfill backfill) {
		return new ListenedTable(this.name, this.filter, this.operations, this.columns, backfill);
	}

}
