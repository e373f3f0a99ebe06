package io.pgbus.store;

import org.jspecify.annotations.Nullable;

/**
 * What an instance has done for the log since it started.
 *
 * @param segments how many segments there were when it looked last, or {@code null} if it
 * does not look after them
 * @param dropped how many segments it has dropped
 * @param deleted how many events it has deleted from segments that stay
 * @param unread how many events have gone that a group had not read, as far as they were
 * counted
 * @since 0.1.0
 */
public record RetentionTotals(@Nullable Integer segments, long dropped, long deleted, long unread) {

	RetentionTotals plus(@Nullable Integer segments, long dropped, long deleted, long unread) {
		return new RetentionTotals((segments != null) ? segments : this.segments, this.dropped + dropped,
				this.deleted + deleted, this.unread + unread);
	}

	RetentionTotals asBystander() {
		return new RetentionTotals(null, this.dropped, this.deleted, this.unread);
	}

}
