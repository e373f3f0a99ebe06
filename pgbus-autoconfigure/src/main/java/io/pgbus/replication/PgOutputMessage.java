package io.pgbus.replication;

import java.time.Instant;
import java.util.List;

import io.pgbus.TableOperation;
import io.pgbus.store.Relation;
import io.pgbus.store.RowChange;
import org.jspecify.annotations.Nullable;

/**
 * A message of the logical replication protocol that matters to the capture.
 */
sealed interface PgOutputMessage {

	/**
	 * A transaction begins.
	 *
	 * @param commit the LSN of the transaction's commit record
	 * @param committedAt when it was committed
	 * @param transactionId its xid, unsigned
	 */
	record Begin(long commit, Instant committedAt, int transactionId) implements PgOutputMessage {

	}

	/**
	 * A transaction ends.
	 *
	 * @param end the LSN behind the commit record
	 */
	record Commit(long end) implements PgOutputMessage {

	}

	/**
	 * A row has changed.
	 *
	 * @param operation insert, update or delete
	 * @param relation the table
	 * @param record the new row
	 * @param previous the old row
	 */
	record Change(TableOperation operation, Relation relation, RowChange.@Nullable Row record,
			RowChange.@Nullable Row previous) implements PgOutputMessage {

	}

	/**
	 * Tables were emptied.
	 *
	 * @param relations the tables
	 */
	record Truncate(List<Relation> relations) implements PgOutputMessage {

	}

	/**
	 * Nothing that the capture must know of.
	 */
	record Other() implements PgOutputMessage {

	}

}
