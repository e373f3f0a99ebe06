package io.pgbus.store;

import java.util.Set;

import io.pgbus.TableOperation;
import org.jspecify.annotations.Nullable;

/**
 * What a group wants of a table, as it is stored.
 *
 * @param groupId the group
 * @param group its name
 * @param schema the name of the table's schema, as it is without quotes
 * @param table the name of the table, as it is without quotes
 * @param streamId the stream of the table's changes
 * @param partitions how many partitions the stream has
 * @param filter a condition on the rows, or {@code null} for every row
 * @param operations the operations
 * @param columns of which columns an update must have changed one; empty for any
 * @param since changes that were committed before this LSN, unsigned, are not for the
 * group
 * @since 0.1.0
 */
public record TableSubscription(int groupId, String group, String schema, String table, int streamId, int partitions,
		@Nullable String filter, Set<TableOperation> operations, Set<String> columns, long since) {

	/**
	 * Returns the table's name with its schema.
	 * @return the name, as {@link PublishedTable#qualifiedName()} has it
	 */
	public String qualifiedName() {
		return PublishedTable.qualifiedName(this.schema, this.table);
	}

}
