package io.pgbus;

/**
 * Thrown by a batch listener that knows which event of its list failed, so that the event
 * need not be searched for.
 *
 * @since 0.1.0
 */
public class BatchListenerFailedException extends PgBusException {

	private static final long serialVersionUID = 1L;

	private final int index;

	/**
	 * Creates an exception.
	 * @param message what failed
	 * @param cause why it failed
	 * @param index the index of the failed event in the list, from 0
	 */
	public BatchListenerFailedException(String message, Throwable cause, int index) {
		super(message, cause);
		this.index = index;
	}

	/**
	 * Returns the index of the failed event in the list.
	 * @return the index, from 0
	 */
	public int getIndex() {
		return this.index;
	}

}
