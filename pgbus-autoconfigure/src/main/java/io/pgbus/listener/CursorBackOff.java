package io.pgbus.listener;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.pgbus.store.Claim;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.util.backoff.BackOffExecution;
import org.springframework.util.backoff.ExponentialBackOff;

/**
 * Cursors on which something around the handler has failed, such as the record of a
 * failure. Each is left alone for a while that grows, so that it is neither given up nor
 * tried without end, and the others go on.
 */
final class CursorBackOff {

	private static final Logger logger = LoggerFactory.getLogger(CursorBackOff.class);

	private static final long FIRST_MILLIS = 200;

	private static final long MAX_MILLIS = 30_000;

	private final String listener;

	private final Map<Integer, Pause> pauses = new ConcurrentHashMap<>();

	private final Consumer<@Nullable Throwable> onChange;

	/**
	 * Creates the back-off.
	 * @param listener the id of the listener
	 * @param onChange is told when a cursor is left alone, and why, and when one is gone
	 * on with
	 */
	CursorBackOff(String listener, Consumer<@Nullable Throwable> onChange) {
		this.listener = listener;
		this.onChange = onChange;
	}

	/** It failed again, or for the first time. */
	void failed(Claim claim, Throwable failure) {
		this.pauses.compute(claim.cursorId(), (id, pause) -> {
			if (pause != null) {
				return pause.next();
			}
			logger.warn(
					"Listener {} cannot go on in partition {} of stream {} and tries again, more and more slowly: {}",
					this.listener, claim.partition(), claim.stream(), failure.toString(), failure);
			ExponentialBackOff times = new ExponentialBackOff(FIRST_MILLIS, 2);
			times.setMaxInterval(MAX_MILLIS);
			return Pause.first(times.start());
		});
		this.onChange.accept(failure);
	}

	/** It went well. */
	void succeeded(Claim claim) {
		if (!this.pauses.isEmpty() && this.pauses.remove(claim.cursorId()) != null) {
			logger.info("Listener {} goes on in partition {} of stream {}", this.listener, claim.partition(),
					claim.stream());
			this.onChange.accept(null);
		}
	}

	/** The cursors to leave alone now. */
	List<Integer> pausing() {
		if (this.pauses.isEmpty()) {
			return List.of();
		}
		long now = System.nanoTime();
		return this.pauses.entrySet()
			.stream()
			.filter((entry) -> entry.getValue().endNanos() - now > 0)
			.map(Map.Entry::getKey)
			.toList();
	}

	/** A worker of this listener has it. */
	void trying(Claim claim) {
		this.pauses.computeIfPresent(claim.cursorId(), (id, pause) -> pause.tried(true));
	}

	/** It is another's by now. */
	void lost(Claim claim) {
		this.pauses.computeIfPresent(claim.cursorId(), (id, pause) -> pause.tried(false));
	}

	/**
	 * Of the cursors that were not left alone none has work: another instance has gone on
	 * with those that no worker of this listener has.
	 */
	void foundNothingBut(List<Integer> pausing) {
		if (!this.pauses.isEmpty() && this.pauses.entrySet()
			.removeIf((entry) -> !entry.getValue().isTried() && !pausing.contains(entry.getKey()))) {
			this.onChange.accept(null);
		}
	}

	/** Whether there are cursors that did not go well the last time. */
	boolean isActive() {
		return !this.pauses.isEmpty();
	}

	private record Pause(BackOffExecution times, long endNanos, boolean isTried) {

		static Pause first(BackOffExecution times) {
			return new Pause(times, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(times.nextBackOff()), false);
		}

		Pause tried(boolean isTried) {
			return new Pause(this.times, this.endNanos, isTried);
		}

		Pause next() {
			return first(this.times);
		}

	}

}
