package io.pgbus.replication;

import java.time.Instant;
import java.util.Objects;

import io.pgbus.replication.CaptureStatus.State;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a capture does, which is logged once for every change.
 */
final class CaptureState {

	private static final Logger logger = LoggerFactory.getLogger(CaptureState.class);

	private final String slot;

	private volatile Phase phase = new Phase(State.STOPPED, Instant.now(), null, null);

	CaptureState(String slot) {
		this.slot = slot;
	}

	Phase get() {
		return this.phase;
	}

	boolean is(State state) {
		return this.phase.state == state;
	}

	void stopped() {
		if (enter(State.STOPPED, null, null)) {
			logger.info("The capture of slot {} has stopped", this.slot);
		}
	}

	void starting() {
		enter(State.STARTING, null, null);
	}

	void capturing(String from) {
		if (enter(State.CAPTURING, null, null)) {
			logger.info("This instance captures changes from slot {}, behind {}", this.slot, from);
		}
	}

	void standby() {
		if (enter(State.STANDBY, null, null)) {
			logger.info("Another instance captures changes from slot {}, this one stands by", this.slot);
		}
	}

	void failing(String reason, @Nullable String remedy, Throwable failure) {
		if (enter(State.FAILING, reason, remedy)) {
			logger.warn("Changes cannot be captured from slot {}, which is tried again: {}", this.slot, reason,
					failure);
		}
	}

	/** Returns whether it is news. */
	boolean gap(String reason, String remedy) {
		boolean entered = enter(State.GAP, reason, remedy);
		if (entered) {
			logger.error("Changes of tables were missed and the capture of slot {} has stopped. {} {}", this.slot,
					reason, remedy);
		}
		return entered;
	}

	/**
	 * A failure that is followed by another one stays the same state: only the reason
	 * changes.
	 */
	private synchronized boolean enter(State state, @Nullable String failure, @Nullable String remedy) {
		Phase before = this.phase;
		boolean same = before.state == state;
		this.phase = new Phase(state, same ? before.since : Instant.now(), failure, remedy);
		return !same || (state == State.GAP && !Objects.equals(before.failure, failure));
	}

	/**
	 * What it does since when.
	 *
	 * @param state what it does
	 * @param since since when
	 * @param failure why it does not capture
	 * @param remedy what to do about that
	 */
	record Phase(State state, Instant since, @Nullable String failure, @Nullable String remedy) {

	}

}
