package io.pgbus.listener;

import org.springframework.context.SmartLifecycle;

/**
 * Runs one listener.
 *
 * @since 0.1.0
 */
public interface PgListenerContainer extends SmartLifecycle {

	/**
	 * Returns the id of the listener.
	 * @return the id
	 */
	default String id() {
		return endpoint().id();
	}

	/**
	 * Returns what the container runs.
	 * @return the endpoint
	 */
	PgListenerEndpoint endpoint();

	/**
	 * Returns what the container is doing.
	 * @return the state
	 */
	State state();

	/**
	 * Lets the workers finish the event they handle and take no other until
	 * {@link #resume()}. Their cursors are free for other instances.
	 */
	void pause();

	/**
	 * Ends a pause.
	 */
	void resume();

	/**
	 * What a container is doing.
	 */
	enum State {

		/** It has not been started, or has been stopped. */
		STOPPED,

		/** It takes and handles events. */
		RUNNING,

		/** It takes no events until it is resumed. */
		PAUSED,

		/**
		 * Something around the handler failed, the database for one; it tries again soon.
		 */
		BACKING_OFF,

		/** It takes no more events and waits for those being handled. */
		STOPPING

	}

}
