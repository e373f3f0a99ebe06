package io.pgbus.store;

import java.util.List;

/**
 * A chunk of a backfill held by a consumer, with its rows.
 *
 * @param id the chunk
 * @param backfillId the backfill
 * @param version the version of its state, which every later change must name
 * @param stream the name of the stream of the table's changes
 * @param streamId this stream
 * @param position the number of the row up to which it is done
 * @param events the rows as events, numbered from 1
 * @since 0.1.0
 */
public record Chunk(int id, int backfillId, long version, String stream, int streamId, int position,
		List<StoredEvent> events) {

	/**
	 * Returns the next rows as a claim, whose cursor is the chunk.
	 * @param count how many rows at most
	 * @return the claim
	 */
	public Claim next(int count) {
		int end = Math.min(this.position + count, this.events.size());
		return new Claim(-this.id, this.version, this.stream, this.streamId, 0, this.position, end, this.events.size(),
				0, "", true, false, null, this.events.subList(this.position, end), List.of());
	}

	/**
	 * Tells whether all rows are done.
	 * @return whether they are
	 */
	public boolean isDone() {
		return this.position == this.events.size();
	}

	Chunk at(long version, long position) {
		return new Chunk(this.id, this.backfillId, version, this.stream, this.streamId, (int) position, this.events);
	}

}
