package io.pgbus.store;

import java.time.Instant;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether notifications are heard. Every change is logged once.
 */
final class ListeningState {

	private static final Logger logger = LoggerFactory.getLogger(NotificationListener.class);

	private volatile Snapshot snapshot = new Snapshot(Phase.STOPPED, null, Instant.now());

	Snapshot get() {
		return this.snapshot;
	}

	void listening(String channel) {
		Phase before = change(Phase.LISTENING, null);
		if (before != Phase.LISTENING) {
			logger.info("Listening {}for wake-ups on channel \"{}\"", (before != Phase.STOPPED) ? "again " : "",
					channel);
		}
	}

	void lost(String reason) {
		Phase before = change(Phase.LOST, reason);
		if (before == Phase.LISTENING) {
			logger.warn("Lost the connection that listens for wake-ups; new events of other instances are found by "
					+ "polling until it is back: {}", reason);
		}
		else if (before != Phase.LOST) {
			logger.warn("Cannot listen for wake-ups yet; new events of other instances are found by polling: {}",
					reason);
		}
	}

	void unable(String reason) {
		Phase before = change(Phase.UNABLE, reason);
		if (before != Phase.UNABLE) {
			logger.warn("Cannot listen for wake-ups, as {}; new events of other instances are found by polling. "
					+ "Set pgbus.notifications.url to a URL that leads to the server itself.", reason);
		}
	}

	void stopped() {
		change(Phase.STOPPED, null);
	}

	private synchronized Phase change(Phase phase, @Nullable String failure) {
		Snapshot before = this.snapshot;
		this.snapshot = new Snapshot(phase, (failure != null) ? failure : before.failure,
				(phase != before.phase) ? Instant.now() : before.since);
		return before.phase;
	}

	enum Phase {

		STOPPED, LISTENING, LOST, UNABLE

	}

	record Snapshot(Phase phase, @Nullable String failure, Instant since) {

	}

}
