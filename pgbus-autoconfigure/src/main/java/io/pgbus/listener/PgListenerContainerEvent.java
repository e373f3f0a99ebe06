package io.pgbus.listener;

import org.jspecify.annotations.Nullable;

/**
 * An application event: a container has changed its state. It is published on the thread
 * that changes it, often that of a worker, which waits for the listeners of the event.
 * They may stop and start the container.
 *
 * @param container the container
 * @param change what has changed
 * @param failure why the container is backing off, {@code null} for other changes
 * @since 0.1.0
 */
public record PgListenerContainerEvent(PgListenerContainer container, Change change, @Nullable Throwable failure) {

	/**
	 * What has changed.
	 */
	public enum Change {

		/** It has started. */
		STARTED,

		/** It has stopped, and the events it handled are done. */
		STOPPED,

		/** It takes no further events; those at work may not be done yet. */
		PAUSED,

		/** It takes events again after a pause. */
		RESUMED,

		/**
		 * Something around the handler failed, the database for one; it tries again. It
		 * may be one partition only that cannot be gone on in.
		 */
		BACKING_OFF,

		/** It works again as it should. */
		RECOVERED,

		/**
		 * It has handled no event for {@code pgbus.listener.idle-event-interval}. This is
		 * told once, until it has handled one again.
		 */
		IDLE

	}

}
