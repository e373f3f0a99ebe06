package io.pgbus.listener;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;

import io.pgbus.DeadLetterListener;
import io.pgbus.Event;
import io.pgbus.EventErrorHandler;
import io.pgbus.EventErrorHandler.Decision;
import io.pgbus.RetryPolicy;
import io.pgbus.RetryPolicy.OnDead;
import io.pgbus.listener.ListenerMetrics.Fate;
import io.pgbus.store.FailureStore.Failure;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.util.backoff.BackOffExecution;
import org.springframework.util.backoff.ExponentialBackOff;

/**
 * Decides what becomes of an event whose handler failed, and tells those who want to
 * know.
 */
final class FailurePolicy {

	private static final Logger logger = LoggerFactory.getLogger(FailurePolicy.class);

	private static final int MAX_MESSAGE = 2000;

	private static final int MAX_STACK = 8000;

	private final String group;

	private final RetryPolicy policy;

	private final @Nullable EventErrorHandler errorHandler;

	private final List<DeadLetterListener> deadLetterListeners;

	private final ListenerMetrics metrics;

	FailurePolicy(String group, RetryPolicy policy, @Nullable EventErrorHandler errorHandler,
			List<DeadLetterListener> deadLetterListeners, ListenerMetrics metrics) {
		this.group = group;
		this.policy = policy;
		this.errorHandler = errorHandler;
		this.deadLetterListeners = deadLetterListeners;
		this.metrics = metrics;
	}

	/**
	 * Decides about a failure.
	 * @return what to record, or {@code null} if the event counts as handled
	 */
	@Nullable Failure decide(Event<String> event, Throwable reason) {
		Decision decision = ask(event, reason);
		if (decision == Decision.DISCARD) {
			logger.warn("Group {} discards event {} of stream {} after attempt {}: {}", this.group, event.id(),
					event.stream(), event.attempt(), reason.toString());
			this.metrics.failed(event.stream(), this.group, Fate.DISCARDED);
			return null;
		}
		boolean dead = decision == Decision.DEAD || event.attempt() >= this.policy.attempts() || isNotRetried(reason);
		Duration nextAttempt = dead ? null : nextAttempt(event.attempt());
		boolean holdsKey = event.key() != null && (!dead || this.policy.onDead() == OnDead.HOLD_KEY);
		return new Failure(nextAttempt, holdsKey, reason.getClass().getName(),
				storable(reason.getMessage(), MAX_MESSAGE), storable(stackOf(reason), MAX_STACK));
	}

	/** Tells of a failure that has been recorded. */
	void recorded(Event<String> event, Failure failure, Throwable reason) {
		this.metrics.failed(event.stream(), this.group, (failure.nextAttempt() != null) ? Fate.RETRYING : Fate.DEAD);
		if (failure.nextAttempt() != null) {
			logger.warn("Group {} failed to handle event {} of stream {}, attempt {} of {}, next in {} ms: {}",
					this.group, event.id(), event.stream(), event.attempt(), this.policy.attempts(),
					failure.nextAttempt().toMillis(), reason.toString());
			return;
		}
		logger.error("Group {} failed to handle event {} of stream {} (type {}, key {}) for good after {} attempt(s)",
				this.group, event.id(), event.stream(), event.type(), event.key(), event.attempt(), reason);
		for (DeadLetterListener listener : this.deadLetterListeners) {
			try {
				listener.onDeadLetter(event, this.group, reason);
			}
			catch (RuntimeException | Error ex) {
				logger.error("{} failed on dead event {} of group {}", listener, event.id(), this.group, ex);
			}
		}
	}

	private Decision ask(Event<String> event, Throwable reason) {
		if (this.errorHandler == null) {
			return Decision.RETRY;
		}
		try {
			return this.errorHandler.onFailure(event, this.group, reason);
		}
		catch (RuntimeException | Error ex) {
			logger.error("{} failed on event {} of group {}", this.errorHandler, event.id(), this.group, ex);
			return Decision.RETRY;
		}
	}

	private boolean isNotRetried(Throwable reason) {
		int depth = 0;
		for (Throwable cause = reason; cause != null && depth < 50; cause = cause.getCause()) {
			Throwable candidate = cause;
			if (this.policy.notRetried().stream().anyMatch((type) -> type.isInstance(candidate))) {
				return true;
			}
			depth++;
		}
		return false;
	}

	private Duration nextAttempt(int attempts) {
		ExponentialBackOff backOff = new ExponentialBackOff(Math.max(1, this.policy.backOff().toMillis()),
				this.policy.multiplier());
		backOff.setMaxInterval(Math.max(1, this.policy.maxBackOff().toMillis()));
		BackOffExecution execution = backOff.start();
		long millis = 0;
		for (int attempt = 0; attempt < attempts; attempt++) {
			millis = execution.nextBackOff();
		}
		double random = 1
				+ this.policy.jitter() * (2 * java.util.concurrent.ThreadLocalRandom.current().nextDouble() - 1);
		return Duration.ofMillis((long) (millis * random));
	}

	private static String stackOf(Throwable reason) {
		StringWriter stack = new StringWriter();
		reason.printStackTrace(new PrintWriter(stack));
		return stack.toString();
	}

	/** PostgreSQL stores no NUL, and half of a surrogate pair is no text. */
	private static @Nullable String storable(@Nullable String text, int maxLength) {
		if (text == null) {
			return null;
		}
		StringBuilder result = new StringBuilder();
		text.codePoints()
			.limit(maxLength)
			.map((c) -> (c == 0 || (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)) ? '?' : c)
			.forEach(result::appendCodePoint);
		return result.toString();
	}

}
