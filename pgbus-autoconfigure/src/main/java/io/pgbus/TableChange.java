package io.pgbus;

import java.time.Instant;
import java.util.Map;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * A change of a row, or of a whole table, as a table listener sees it. Names of tables
 * and columns are as they are without quotes.
 *
 * @param <T> the type that rows are read as
 * @param operation what has happened
 * @param table the table with its schema, such as {@code public.orders}
 * @param key the values of the primary key's columns by name; empty if the table has none
 * or the change is one of the whole table
 * @param record the row as the change left it, or {@code null} for
 * {@link TableOperation#DELETE}, {@link TableOperation#TRUNCATE} and
 * {@link TableOperation#GAP}
 * @param previous the row as it was before, as far as the table's replica identity tells,
 * or {@code null} if it does not. Only {@link #previousColumns} have values
 * @param previousColumns the columns of the row before that are known: all with replica
 * identity full, else those of the key, for a delete and where an update changed them.
 * One that is missing here is unknown, not null
 * @param changedColumns the columns that an update changed, or {@code null} if the row
 * before is not known
 * @param unavailableColumns columns whose value is not known: large values that the
 * update did not touch, or values of a type that has changed beyond reading. The record
 * is without them
 * @param refetchedColumns columns whose large value was read from the table afterwards;
 * it is the value of this change
 * @param leaves whether the row met the listener's filter before and no longer does. Only
 * told with replica identity full
 * @param movedFrom the key before, if an update changed it: this is the insert of the
 * move, and there is a delete with the old key; else {@code null}
 * @param movedTo the key after, if this is the delete of such a move; else {@code null}
 * @param origin where the change is in the database's history, or {@code null} for
 * {@link TableOperation#READ} and {@link TableOperation#GAP}
 * @param backfill the id of the backfill that has read the row, or {@code null} for a
 * change. With the table and the key it tells a row of a backfill that comes twice
 * @since 0.1.0
 */
public record TableChange<T>(TableOperation operation, String table, Map<String, @Nullable Object> key,
		@Nullable T record, @Nullable T previous, Set<String> previousColumns, @Nullable Set<String> changedColumns,
		Set<String> unavailableColumns, Set<String> refetchedColumns, boolean leaves,
		@Nullable Map<String, @Nullable Object> movedFrom, @Nullable Map<String, @Nullable Object> movedTo,
		@Nullable Origin origin, @Nullable Long backfill) {

	/**
	 * Returns the row as the change left it, for listeners that want no operation without
	 * one.
	 * @return the row
	 * @throws IllegalStateException if there is none
	 */
	public T requireRecord() {
		if (this.record == null) {
			throw new IllegalStateException("A " + this.operation + " of " + this.table + " leaves no row");
		}
		return this.record;
	}

	/**
	 * Tells whether a column has surely changed.
	 * @param column the name of the column
	 * @return {@code false} also if it is not known
	 */
	public boolean hasChanged(String column) {
		return this.changedColumns != null && this.changedColumns.contains(column);
	}

	/**
	 * Tells whether the value of a column is unknown.
	 * @param column the name of the column
	 * @return whether it is
	 */
	public boolean isUnavailable(String column) {
		return this.unavailableColumns.contains(column);
	}

	/**
	 * Where a change is in the database's history.
	 *
	 * @param committedAt when its transaction was committed, by the server's clock
	 * @param transactionId the xid of its transaction, with epoch
	 * @param lsn the LSN of the transaction's commit record, such as {@code 0/16B3748}
	 * @param ordinal the number of the change in its transaction, from 1
	 */
	public record Origin(Instant committedAt, long transactionId, String lsn, long ordinal) {

	}

}
