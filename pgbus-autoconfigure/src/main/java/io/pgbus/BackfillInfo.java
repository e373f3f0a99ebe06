package io.pgbus;

import java.time.Duration;
import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * How far a backfill is.
 *
 * @param id the id
 * @param group the name of the group
 * @param table the table with its schema
 * @param name its name, or {@code null}
 * @param query what is read, or {@code null} for the whole table
 * @param state its state
 * @param rowsRead how many rows have been dealt with: handled, or recorded as failed
 * @param estimatedRows how many there are, as the planner reckoned at the start, or
 * {@code null} if it is not known
 * @param chunksDone how many reads that were
 * @param rowsPerSecond how many rows were dealt with in a second since it was started, or
 * {@code null} if it was not
 * @param error why it waits or has failed, or {@code null}
 * @param createdAt when it was asked for
 * @param startedAt when the first row could be read, or {@code null}
 * @param finishedAt when it came to an end, or {@code null}
 * @since 0.1.0
 */
public record BackfillInfo(long id, String group, String table, @Nullable String name, @Nullable String query,
		State state, long rowsRead, @Nullable Long estimatedRows, int chunksDone, @Nullable Double rowsPerSecond,
		@Nullable String error, Instant createdAt, @Nullable Instant startedAt, @Nullable Instant finishedAt) {

	/**
	 * Returns the estimated share of the rows that have been dealt with.
	 * @return from 0 to 1, or {@code null} if it is not known
	 */
	public @Nullable Double share() {
		if (this.state == State.DONE) {
			return 1.0;
		}
		if (this.estimatedRows == null || this.estimatedRows == 0) {
			return null;
		}
		return Math.min(1, (double) this.rowsRead / this.estimatedRows);
	}

	/**
	 * Returns the estimated time that is left.
	 * @return the time, or {@code null} if it is not running, or it is not known
	 */
	public @Nullable Duration timeLeft() {
		if (this.state != State.RUNNING || this.estimatedRows == null || this.rowsPerSecond == null
				|| this.rowsPerSecond <= 0) {
			return null;
		}
		return Duration.ofSeconds((long) (Math.max(0, this.estimatedRows - this.rowsRead) / this.rowsPerSecond));
	}

	/**
	 * The state of a backfill.
	 */
	public enum State {

		/** Something must happen before the first row can be read. */
		WAITING,

		/** Rows are read and handled. */
		RUNNING,

		/** No rows are read until it is resumed. */
		PAUSED,

		/** All rows have been dealt with. */
		DONE,

		/**
		 * PostgreSQL refused to read on. It can be restarted or cancelled; changes that
		 * wait for it go on waiting.
		 */
		FAILED,

		/** It was given up. */
		CANCELLED

	}

}
