package io.pgbus.listener;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

import io.pgbus.BatchListenerFailedException;

/**
 * A handler failed, as opposed to what is around it.
 */
final class HandlerFailure extends RuntimeException {

	private static final long serialVersionUID = 1L;

	static final int UNKNOWN = -1;

	private final Throwable reason;

	private final int index;

	HandlerFailure(Throwable failure, int events) {
		super(null, failure, false, false);
		Throwable thrown = unwrap(failure);
		this.index = indexIn(thrown, events);
		Throwable cause = (thrown instanceof BatchListenerFailedException) ? thrown.getCause() : null;
		this.reason = (cause != null) ? cause : thrown;
	}

	/** What the handler threw. */
	Throwable reason() {
		return this.reason;
	}

	/** Which of the events failed, or {@link #UNKNOWN}. */
	int index() {
		return this.index;
	}

	private static Throwable unwrap(Throwable failure) {
		boolean wraps = failure instanceof ExecutionException || failure instanceof CompletionException;
		return (wraps && failure.getCause() != null) ? unwrap(failure.getCause()) : failure;
	}

	private static int indexIn(Throwable reason, int events) {
		if (events == 1) {
			return 0;
		}
		boolean known = reason instanceof BatchListenerFailedException ex && ex.getIndex() >= 0
				&& ex.getIndex() < events;
		return known ? ((BatchListenerFailedException) reason).getIndex() : UNKNOWN;
	}

}
