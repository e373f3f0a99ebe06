package io.pgbus.store;

import java.time.Instant;
import java.util.List;
import java.util.Set;

import io.pgbus.TableOperation;
import org.jspecify.annotations.Nullable;

/**
 * A change as the stream of changes has it.
 *
 * @param operation {@code INSERT}, {@code UPDATE}, {@code DELETE} or {@code TRUNCATE}
 * @param relation the table
 * @param record the new row, or {@code null} for a delete and a truncate
 * @param previous the old row, or {@code null} if the stream does not have it. If the
 * relation has no {@link Relation#wholeRows() whole rows}, only its identity columns have
 * values; for an update it is there only if one of those has changed
 * @param position where the change is
 * @param transactionId the xid of the transaction, which has 32 bits, unsigned
 * @param committedAt when the transaction was committed
 * @since 0.1.0
 */
public record RowChange(TableOperation operation, Relation relation, @Nullable Row record, @Nullable Row previous,
		CapturePosition position, int transactionId, Instant committedAt) {

	/**
	 * The values of a row.
	 *
	 * @param values the values as text, in the order of the relation's columns;
	 * {@code null} for SQL's null and for {@link #isUnchanged unchanged} ones
	 * @param unchanged the columns whose value is a large one that the update did not
	 * touch, so that the stream does not have it; empty for almost all rows
	 */
	public record Row(List<@Nullable String> values, Set<Integer> unchanged) {

		/**
		 * Tells whether a value is missing because the update did not touch it.
		 * @param column the index of the column
		 * @return whether it is
		 */
		public boolean isUnchanged(int column) {
			return this.unchanged.contains(column);
		}

	}

}
