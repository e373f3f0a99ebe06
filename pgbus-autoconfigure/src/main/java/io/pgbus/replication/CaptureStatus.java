package io.pgbus.replication;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * What this instance's capture does, as far as it knows without asking the server.
 *
 * @param state what it does
 * @param since since when, by this machine's clock
 * @param slot the name of the slot
 * @param failure why it does not capture, or {@code null} if it does, stands by or is
 * stopped
 * @param remedy what to do about it, or {@code null} if it tries again by itself
 * @param received the LSN, unsigned, up to which the stream was read, 0 if it was not
 * @param confirmed the LSN, unsigned, up to which the server may forget, 0 if unknown
 * @param changes how many changes were read and handed over since this instance captures
 * @param events how many events were appended since this instance captures
 * @param lastCommitAt when the transaction was committed whose changes were appended
 * last, or {@code null} if there were none
 * @param slotStatus the slot as it was looked at last, within the heartbeat interval, or
 * {@code null} if this instance does not capture
 * @since 0.1.0
 */
public record CaptureStatus(State state, Instant since, String slot, @Nullable String failure, @Nullable String remedy,
		long received, long confirmed, long changes, long events, @Nullable Instant lastCommitAt,
		@Nullable SlotStatus slotStatus) {

	/**
	 * Tells whether it is this instance that captures.
	 * @return whether it is
	 */
	public boolean isLeader() {
		return this.state == State.CAPTURING;
	}

	/**
	 * What a capture does.
	 */
	public enum State {

		/** It was not started, or was stopped. */
		STOPPED,

		/** It connects, or waits until its slot is made. */
		STARTING,

		/** It reads changes and appends them. */
		CAPTURING,

		/** Another instance captures. */
		STANDBY,

		/** It cannot capture just now and tries again. */
		FAILING,

		/** Changes were missed; it waits until it is told to go on. */
		GAP

	}

}
