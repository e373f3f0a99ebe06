package io.pgbus;

/**
 * Is asked what becomes of an event whose handler failed. A bean of this type is asked
 * for every listener that names no other.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface EventErrorHandler {

	/**
	 * Decides about a failure. This runs without a transaction, after that of the handler
	 * was rolled back. An exception thrown here is logged, and {@link Decision#RETRY}
	 * assumed.
	 * @param event the event, with its payload as JSON text and the number of the attempt
	 * @param group the consumer group
	 * @param failure what the handler threw
	 * @return what becomes of the event
	 */
	Decision onFailure(Event<String> event, String group, Throwable failure);

	/**
	 * What becomes of an event whose handler failed.
	 */
	enum Decision {

		/**
		 * What the retry policy says: another attempt later, or none is left and it is
		 * dead.
		 */
		RETRY,

		/** It is dead at once. */
		DEAD,

		/** It counts as handled. */
		DISCARD

	}

}
