package io.pgbus;

import org.jspecify.annotations.Nullable;

/**
 * An event cannot be published as it is. Nothing has been written.
 *
 * @since 0.1.0
 */
public class InvalidEventException extends PgBusException {

	private static final long serialVersionUID = 1L;

	/**
	 * Creates an exception.
	 * @param message what is wrong with the event and what to do
	 */
	public InvalidEventException(String message) {
		this(message, null);
	}

	/**
	 * Creates an exception.
	 * @param message what is wrong with the event and what to do
	 * @param cause the cause, or {@code null}
	 */
	public InvalidEventException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
