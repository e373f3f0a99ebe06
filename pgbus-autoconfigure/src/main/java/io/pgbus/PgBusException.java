package io.pgbus;

import org.jspecify.annotations.Nullable;

/**
 * Something pgbus was asked to do cannot be done as asked. The message names the thing
 * and the remedy.
 *
 * @since 0.1.0
 */
public class PgBusException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	/**
	 * Creates an exception.
	 * @param message what is wrong and what to do
	 */
	public PgBusException(String message) {
		this(message, null);
	}

	/**
	 * Creates an exception.
	 * @param message what is wrong and what to do
	 * @param cause the cause, or {@code null}
	 */
	public PgBusException(String message, @Nullable Throwable cause) {
		super(message, cause);
	}

}
