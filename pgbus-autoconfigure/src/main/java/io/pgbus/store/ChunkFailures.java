package io.pgbus.store;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

import io.pgbus.store.FailureStore.Failure;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.DuplicateKeyException;

/**
 * Failures of rows of a chunk. Only such a row becomes an event of the log, for its group
 * alone, together with its failure under the cursor of its partition, so that from then
 * on it is tried again, holds its key and is dead as any other. That cursor passes over
 * it: its listener's filter takes no reads (see {@link TableListenerStore#eventFilter}).
 * <p>
 * The ledger has the row in the same transaction, so that it is not read again.
 *
 * @since 0.1.0
 */
public final class ChunkFailures {

	private static final String ENTER = """
			insert into {bus}.ledger (cursor_id, event_id) values (:cursorId, :ordinal)
			""";

	private static final String CURSOR = """
			select c.id from {bus}.cursor c
			where c.group_id = :groupId and c.stream_id = :streamId and c.partition = :partition
			""";

	private static final String APPEND = """
			insert into {bus}.event (stream_id, partition, size, type, key, payload, headers)
			values (:streamId, :partition, octet_length(:payload), :type, :key, :payload::jsonb, :headers::jsonb)
			returning id
			""";

	private final BusDatabase database;

	private final FailureStore failures;

	private final int groupId;

	/**
	 * Creates the store for one listener.
	 * @param database the database
	 * @param failures the failures of events
	 * @param groupId the group
	 */
	public ChunkFailures(BusDatabase database, FailureStore failures, int groupId) {
		this.database = database;
		this.failures = failures;
		this.groupId = groupId;
	}

	/**
	 * Records the first failure of a row, in a transaction of its own.
	 * @param claim the chunk
	 * @param row the row
	 * @param failure the failure
	 * @return the event that the row is now, or {@code null} if the chunk is another's or
	 * the row is done; nothing was recorded then
	 */
	public @Nullable StoredEvent record(Claim claim, StoredEvent row, Failure failure) {
		List<StoredEvent> recorded = append(claim, List.of(row),
				(cursorId, event) -> this.failures.recordAt(cursorId, event, failure));
		return (recorded != null) ? recorded.get(0) : null;
	}

	/**
	 * Puts rows behind failed events with their keys, in a transaction of its own.
	 * @param claim the chunk
	 * @param rows the rows, in order
	 * @return whether the chunk is still held and no row is done; if not, nothing was
	 * recorded
	 */
	public boolean hold(Claim claim, Collection<StoredEvent> rows) {
		return append(claim, rows, this.failures::holdAt) != null;
	}

	@SuppressWarnings("NullAway") // the result is null if that of the work is
	private @Nullable List<StoredEvent> append(Claim claim, Collection<StoredEvent> rows, Recorder recorder) {
		try {
			return this.database.ownTransaction().execute((status) -> {
				List<StoredEvent> events = new ArrayList<>();
				this.database.own(Ledger.SHARE).param("cursorId", claim.cursorId()).query().listOfRows();
				for (StoredEvent row : rows) {
					this.database.own(ENTER).param("cursorId", claim.cursorId()).param("ordinal", row.id()).update();
					int partition = Objects.requireNonNull(row.partition());
					int cursorId = this.database.own(CURSOR)
						.param("groupId", this.groupId)
						.param("streamId", claim.streamId())
						.param("partition", partition)
						.query(Integer.class)
						.single();
					this.database.own(FailureStore.LOCK).param("cursorId", cursorId).query().listOfRows();
					StoredEvent event = row.withId(append(claim, row, partition));
					recorder.record(cursorId, event);
					events.add(event);
				}
				if (!this.failures.isHeld(claim)) {
					status.setRollbackOnly();
					return null;
				}
				return events;
			});
		}
		catch (DuplicateKeyException ex) {
			return null;
		}
	}

	private long append(Claim claim, StoredEvent row, int partition) {
		return this.database.own(APPEND)
			.param("streamId", claim.streamId())
			.param("partition", partition)
			.param("type", row.type())
			.param("key", row.key())
			.param("payload", row.payload())
			.param("headers", row.headers())
			.query(Long.class)
			.single();
	}

	private interface Recorder {

		void record(int cursorId, StoredEvent event);

	}

}
