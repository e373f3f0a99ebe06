package io.pgbus.listener;

import java.time.Duration;

/**
 * Counts and times what listeners do. It is called on the threads that do it, so it must
 * be quick and must not throw.
 *
 * @since 0.1.0
 */
public interface ListenerMetrics {

	/** Counts nothing. */
	ListenerMetrics NONE = new ListenerMetrics() {
	};

	/**
	 * Events were handled. With exactly-once delivery, what the handler did is committed.
	 * @param stream the name of the stream
	 * @param group the consumer group
	 * @param events how many
	 */
	default void handled(String stream, String group, int events) {
	}

	/**
	 * An event was handled at the first attempt.
	 * @param stream the name of the stream
	 * @param group the consumer group
	 * @param delay the time from its publication, by the database's clock, to the start
	 * of its handling, by the clock of this machine; not below zero
	 */
	default void delayed(String stream, String group, Duration delay) {
	}

	/**
	 * An event was not handled.
	 * @param stream the name of the stream
	 * @param group the consumer group
	 * @param fate what becomes of it
	 */
	default void failed(String stream, String group, Fate fate) {
	}

	/**
	 * A worker has looked for a free cursor with work: claimed it and read the first
	 * events, which is one round trip.
	 * @param group the consumer group
	 * @param result how it went
	 * @param nanos how long it took, in nanoseconds
	 */
	default void claimed(String group, Result result, long nanos) {
	}

	/**
	 * A worker has saved the position of the cursor it holds and read the next events,
	 * which is one round trip.
	 * @param group the consumer group
	 * @param result how it went
	 * @param nanos how long it took, in nanoseconds
	 */
	default void fetched(String group, Result result, long nanos) {
	}

	/**
	 * A chunk of a backfill was dealt with. Its rows count as handled events too.
	 * @param table the table with its schema
	 * @param group the consumer group
	 * @param rows how many rows it had
	 */
	default void backfilled(String table, String group, int rows) {
	}

	/**
	 * A listener was told that there may be work. This does not mean that a worker was
	 * asleep, nor that it finds work.
	 * @param group the consumer group
	 * @param cause how it came to know
	 */
	default void wokenUp(String group, WakeUpCause cause) {
	}

	/**
	 * What becomes of an event whose handler failed.
	 */
	enum Fate {

		/** It is tried again later. */
		RETRYING,

		/** It is not tried again. */
		DEAD,

		/** It counts as handled. */
		DISCARDED

	}

	/**
	 * How a look for events went.
	 */
	enum Result {

		/** A cursor was claimed, or the one that is held was read on in. */
		CLAIMED,

		/**
		 * There is nothing to do, or while reading on: the cursor is another's by now.
		 */
		NOTHING,

		/** The statement failed. */
		FAILED

	}

	/**
	 * How a listener came to know that there may be work.
	 */
	enum WakeUpCause {

		/** Events were published in this application instance. */
		PUBLISH,

		/** Another instance has given notice of events, or may have. */
		NOTIFICATION,

		/** The log was looked at, or a dead instance has left its cursors behind. */
		POLL,

		/** Another listener of the group has left an event of a type it does not take. */
		HANDOVER,

		/** Nothing was found right after a publication, so it is looked again. */
		LOOK_AGAIN

	}

}
