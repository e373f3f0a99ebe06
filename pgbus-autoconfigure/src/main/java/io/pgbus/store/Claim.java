package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

/**
 * A cursor held by a consumer, and the events it read last.
 *
 * @param cursorId the cursor
 * @param version the version of its state, which every later change must name
 * @param stream the name of the stream
 * @param streamId the stream
 * @param partition the partition
 * @param position the id up to which the window is done
 * @param readingTo the position once these events are done
 * @param ceiling the position at which the window is done
 * @param lowFloor the id below which the window has no events but those of transactions
 * that were late
 * @param window what tells the window from all others of the cursor
 * @param isFiltered whether the listener's filter, if it has one, was asked about the
 * events
 * @param retriesDue whether failed events of this cursor wait to be tried again
 * @param awaitsType the type of the event after these, if it is for another member of the
 * group, or {@code null}
 * @param events the events to handle, in order
 * @param done the events among those read that are done already, though the position does
 * not show it
 * @since 0.1.0
 */
public record Claim(int cursorId, long version, String stream, int streamId, int partition, long position,
		long readingTo, long ceiling, long lowFloor, String window, boolean isFiltered, boolean retriesDue,
		@Nullable String awaitsType, List<StoredEvent> events, List<Long> done) {

	/**
	 * Returns the partition of an event.
	 * @param event one of the events
	 * @return the partition
	 */
	public int partitionOf(StoredEvent event) {
		return (event.partition() != null) ? event.partition() : this.partition;
	}

	/**
	 * Tells whether there is more to read once these events are done.
	 * @return whether there is
	 */
	public boolean hasMore() {
		return this.readingTo < this.ceiling && this.awaitsType == null;
	}

	/**
	 * Reads the result of a claim: a row for itself, and one for each event.
	 */
	static Optional<Claim> read(ResultSet row, boolean isFiltered) throws SQLException {
		if (!row.next()) {
			return Optional.empty();
		}
		List<StoredEvent> events = new ArrayList<>();
		List<Long> done = new ArrayList<>();
		int cursorId = row.getInt("cursor_id");
		long version = row.getLong("version");
		String stream = row.getString("stream");
		int streamId = row.getInt("stream_id");
		int partition = row.getInt("partition");
		long position = row.getLong("position");
		long readingTo = row.getLong("reading_to");
		long ceiling = row.getLong("ceiling");
		long lowFloor = row.getLong("low_floor");
		// each window ends with a snapshot that none before it had
		String window = row.getString("high_snapshot");
		boolean retriesDue = row.getBoolean("retries_due");
		String awaitsType = row.getString("awaits_type");
		while (row.next()) {
			if (row.getBoolean("done")) {
				done.add(row.getLong("id"));
			}
			else {
				events.add(StoredEvent.read(row));
			}
		}
		return Optional.of(new Claim(cursorId, version, stream, streamId, partition, position, readingTo, ceiling,
				lowFloor, window, isFiltered, retriesDue, awaitsType, events, done));
	}

}
