package io.pgbus;

import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * A request to deliver rows of a table to a group that listens to it.
 *
 * @param table the table, as SQL has it
 * @param query a select that yields the rows: the primary key's columns, and the others
 * that are wanted, by their names; {@code null} for the whole table
 * @param filter a condition in SQL on the columns of a row, under the table's name, or
 * {@code null} for that with which the group listens to the table
 * @param liveChanges what becomes of changes meanwhile
 * @param name a name which the group has no other backfill of this table by, or
 * {@code null}
 * @param rowsPerSecond the most rows to read in a second, on the average, or {@code null}
 * for {@code pgbus.backfill.rows-per-second}
 * @since 0.1.0
 */
public record BackfillRequest(String table, @Nullable String query, @Nullable String filter, LiveChanges liveChanges,
		@Nullable String name, @Nullable Integer rowsPerSecond) {

	/**
	 * Checks the parts.
	 * @throws IllegalArgumentException if the table is blank or the rate is not positive
	 */
	public BackfillRequest {
		Assert.hasText(table, "A backfill names a table that is blank");
		Assert.isTrue(rowsPerSecond == null || rowsPerSecond > 0, "A backfill's rows per second must be positive");
	}

	/**
	 * Requests the rows that the group's filter lets through.
	 * @param table the table, as SQL has it
	 * @return the request
	 */
	public static BackfillRequest of(String table) {
		return new BackfillRequest(table, null, null, LiveChanges.AFTER_BACKFILL, null, null);
	}

	/**
	 * Returns this request with a query.
	 * @param query a select that yields the rows
	 * @return the request
	 */
	public BackfillRequest query(String query) {
		return new BackfillRequest(this.table, query, this.filter, this.liveChanges, this.name, this.rowsPerSecond);
	}

	/**
	 * Returns this request with a filter.
	 * @param filter a condition in SQL on the columns of a row
	 * @return the request
	 */
	public BackfillRequest filter(String filter) {
		return new BackfillRequest(this.table, this.query, filter, this.liveChanges, this.name, this.rowsPerSecond);
	}

	/**
	 * Returns this request with another way to treat changes meanwhile.
	 * @param liveChanges what becomes of them
	 * @return the request
	 */
	public BackfillRequest liveChanges(LiveChanges liveChanges) {
		return new BackfillRequest(this.table, this.query, this.filter, liveChanges, this.name, this.rowsPerSecond);
	}

	/**
	 * Returns this request with a name.
	 * @param name the name
	 * @return the request
	 */
	public BackfillRequest name(String name) {
		return new BackfillRequest(this.table, this.query, this.filter, this.liveChanges, name, this.rowsPerSecond);
	}

	/**
	 * Returns this request with a rate.
	 * @param rowsPerSecond the most rows to read in a second, on the average
	 * @return the request
	 */
	public BackfillRequest rowsPerSecond(int rowsPerSecond) {
		return new BackfillRequest(this.table, this.query, this.filter, this.liveChanges, this.name, rowsPerSecond);
	}

}
