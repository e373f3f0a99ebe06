package io.pgbus.listener;

import java.io.PrintWriter;
import java.io.Writer;
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
		this.reason = printable((cause != null) ? cause : thrown);
	}

	private HandlerFailure(HandlerFailure failure, int index) {
		super(null, failure.getCause(), false, false);
		this.index = index;
		this.reason = failure.reason;
	}

	/** The same failure, of one event among several. */
	HandlerFailure ofEvent(int index) {
		return new HandlerFailure(this, index);
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

	/**
	 * An exception that fails when it is printed would fail whoever records the failure,
	 * and the event would come again for ever.
	 */
	private static Throwable printable(Throwable thrown) {
		try {
			thrown.printStackTrace(new PrintWriter(Writer.nullWriter()));
			return thrown;
		}
		catch (RuntimeException | Error ex) {
			IllegalStateException printable = new IllegalStateException(
					"The handler threw a " + thrown.getClass().getName() + " that cannot be printed");
			printable.setStackTrace(thrown.getStackTrace());
			return printable;
		}
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
