package io.pgbus;

import java.util.Collection;
import java.util.List;

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
 * @param keys the primary keys of the rows that are wanted, at most {@value #MAX_KEYS},
 * as {@link #keys(Collection)} says, or {@code null} for all rows
 * @param liveChanges what becomes of changes meanwhile
 * @param name a name which the group has no other backfill of this table by, or
 * {@code null}
 * @param rowsPerSecond the most rows to read in a second, on the average, or {@code null}
 * for {@code pgbus.backfill.rows-per-second}
 * @since 0.1.0
 */
public record BackfillRequest(String table, @Nullable String query, @Nullable String filter,
		@Nullable List<Object> keys, LiveChanges liveChanges, @Nullable String name, @Nullable Integer rowsPerSecond) {

	/** The most keys of one request. */
	public static final int MAX_KEYS = 10_000;

	/**
	 * Checks the parts.
	 * @throws IllegalArgumentException if the table is blank, the rate is not positive,
	 * or there are no keys in the list of keys or too many
	 */
	public BackfillRequest {
		Assert.hasText(table, "A backfill names a table that is blank");
		Assert.isTrue(rowsPerSecond == null || rowsPerSecond > 0, "A backfill's rows per second must be positive");
		if (keys != null) {
			Assert.isTrue(!keys.isEmpty() && keys.size() <= MAX_KEYS,
					() -> "A backfill by keys needs from 1 to " + MAX_KEYS + " of them");
			keys = List.copyOf(keys);
		}
	}

	/**
	 * Requests the rows that the group's filter lets through.
	 * @param table the table, as SQL has it
	 * @return the request
	 */
	public static BackfillRequest of(String table) {
		return new BackfillRequest(table, null, null, null, LiveChanges.AFTER_BACKFILL, null, null);
	}

	/**
	 * Returns this request with a query.
	 * @param query a select that yields the rows
	 * @return the request
	 */
	public BackfillRequest query(String query) {
		return new BackfillRequest(this.table, query, this.filter, this.keys, this.liveChanges, this.name,
				this.rowsPerSecond);
	}

	/**
	 * Returns this request with a filter.
	 * @param filter a condition in SQL on the columns of a row
	 * @return the request
	 */
	public BackfillRequest filter(String filter) {
		return new BackfillRequest(this.table, this.query, filter, this.keys, this.liveChanges, this.name,
				this.rowsPerSecond);
	}

	/**
	 * Returns this request for the rows with these primary keys only. Query and filter
	 * hold for them as well. A key for which there is no row is passed over.
	 * @param keys the keys: each the value of the primary key's column, or of a key of
	 * several columns a list of their values in the key's order; or a map of values by
	 * column, as {@link TableChange#key()} has it. Values are what PostgreSQL reads as
	 * text of the column's type
	 * @return the request
	 */
	public BackfillRequest keys(Collection<?> keys) {
		return new BackfillRequest(this.table, this.query, this.filter, List.copyOf(keys), this.liveChanges, this.name,
				this.rowsPerSecond);
	}

	/**
	 * Returns this request with another way to treat changes meanwhile.
	 * @param liveChanges what becomes of them
	 * @return the request
	 */
	public BackfillRequest liveChanges(LiveChanges liveChanges) {
		return new BackfillRequest(this.table, this.query, this.filter, this.keys, liveChanges, this.name,
				this.rowsPerSecond);
	}

	/**
	 * Returns this request with a name.
	 * @param name the name
	 * @return the request
	 */
	public BackfillRequest name(String name) {
		return new BackfillRequest(this.table, this.query, this.filter, this.keys, this.liveChanges, name,
				this.rowsPerSecond);
	}

	/**
	 * Returns this request with a rate.
	 * @param rowsPerSecond the most rows to read in a second, on the average
	 * @return the request
	 */
	public BackfillRequest rowsPerSecond(int rowsPerSecond) {
		return new BackfillRequest(this.table, this.query, this.filter, this.keys, this.liveChanges, this.name,
				rowsPerSecond);
	}

}
