package io.pgbus;

import org.jspecify.annotations.Nullable;

/**
 * An event's payload does not fit what its handler wants. It is not tried again by
 * itself, since the next attempt would read the same bytes.
 *
 * @since 0.1.0
 */
public class UnreadableEventException extends PgBusException {

	private static final long serialVersionUID = 1L;

	/**
	 * Creates an exception.
	 * @param message which event does not fit what
	 * @param cause the cause, or {@code null}
	 */
	public UnreadableEventException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
