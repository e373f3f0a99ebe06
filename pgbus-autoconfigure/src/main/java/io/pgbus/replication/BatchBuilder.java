package io.pgbus.replication;

import java.util.ArrayList;
import java.util.List;

import io.pgbus.TableOperation;
import io.pgbus.replication.PgOutputMessage.Begin;
import io.pgbus.replication.PgOutputMessage.Change;
import io.pgbus.replication.PgOutputMessage.Commit;
import io.pgbus.replication.PgOutputMessage.Truncate;
import io.pgbus.store.CapturePosition;
import io.pgbus.store.Relation;
import io.pgbus.store.RowChange;
import org.jspecify.annotations.Nullable;

/**
 * Puts the messages of the stream together to batches, and leaves out what has been
 * appended before.
 */
final class BatchBuilder {

	private final CapturePosition from;

	private final int maxRows;

	private final int maxBytes;

	private @Nullable Begin transaction;

	private long ordinal;

	private List<RowChange> changes = new ArrayList<>();

	private long bytes;

	private @Nullable CapturePosition to;

	private long read;

	/**
	 * Creates a builder.
	 * @param from the place up to which all changes are appended
	 * @param settings say how large a batch may be
	 */
	BatchBuilder(CapturePosition from, CaptureSettings settings) {
		this.from = from;
		this.maxRows = settings.batchRows();
		this.maxBytes = settings.batchBytes();
	}

	/**
	 * Takes a message.
	 * @param message the message
	 * @param size how many bytes it has in the stream
	 */
	void add(PgOutputMessage message, int size) {
		if (message instanceof Change change) {
			add(change.operation(), change.relation(), change.record(), change.previous(), size);
		}
		else if (message instanceof Begin begin) {
			this.transaction = begin;
			this.ordinal = 0;
		}
		else if (message instanceof Commit commit) {
			if (!this.changes.isEmpty()) {
				this.to = new CapturePosition(current().commit(), CapturePosition.WHOLE);
			}
			this.transaction = null;
			readTo(commit.end());
		}
		else if (message instanceof Truncate truncate) {
			truncate.relations().forEach((relation) -> add(TableOperation.TRUNCATE, relation, null, null, size));
		}
	}

	private void add(TableOperation operation, Relation relation, RowChange.@Nullable Row record,
			RowChange.@Nullable Row previous, int size) {
		Begin begin = current();
		this.ordinal++;
		CapturePosition position = new CapturePosition(begin.commit(), this.ordinal);
		if (position.compareTo(this.from) > 0) {
			this.changes.add(new RowChange(operation, relation, record, previous, position, begin.transactionId(),
					begin.committedAt()));
			this.bytes += size;
			this.to = position;
		}
	}

	private Begin current() {
		Begin begin = this.transaction;
		if (begin == null) {
			throw new IllegalStateException("The stream has a change or a commit without a begin");
		}
		return begin;
	}

	/** The server says that it has sent all transactions up to here. */
	void readTo(long lsn) {
		if (Long.compareUnsigned(lsn, this.read) > 0) {
			this.read = lsn;
		}
	}

	long read() {
		return this.read;
	}

	boolean isInTransaction() {
		return this.transaction != null;
	}

	boolean isEmpty() {
		return this.changes.isEmpty();
	}

	boolean isFull() {
		return this.changes.size() >= this.maxRows || this.bytes >= this.maxBytes;
	}

	/** Takes what there is; the next batch begins behind it. */
	ChangeBatch take() {
		ChangeBatch batch = new ChangeBatch(this.changes, this.to, this.read);
		this.changes = new ArrayList<>();
		this.bytes = 0;
		this.to = null;
		return batch;
	}

}
