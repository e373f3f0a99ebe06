package io.pgbus;

/**
 * Tells the container that work which a listener method has left to others is finished. A
 * method with an argument of this type is done when this is called, not when it returns.
 *
 * @since 0.1.0
 */
public interface Acknowledgment {

	/**
	 * The event, or the list, is handled. May be called from any thread; later calls have
	 * no effect.
	 */
	void acknowledge();

	/**
	 * Handling the event, or the list, has failed; it is treated as if the method had
	 * thrown the exception.
	 * @param failure the reason
	 */
	void fail(Throwable failure);

}
