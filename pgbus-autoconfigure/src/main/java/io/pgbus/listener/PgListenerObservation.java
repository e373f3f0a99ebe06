package io.pgbus.listener;

import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.docs.ObservationDocumentation;

/**
 * What is observed of listeners.
 *
 * @since 0.1.0
 */
public enum PgListenerObservation implements ObservationDocumentation {

	/**
	 * A call of a listener's handler, which ends when the work that it leaves to others
	 * does. With exactly-once delivery it has the transaction in it, with its commit; but
	 * where a worker handles several single events in one transaction, each call is
	 * observed by itself and the commit is not.
	 */
	HANDLE {

		@Override
		public Class<DefaultPgListenerObservationConvention> getDefaultConvention() {
			return DefaultPgListenerObservationConvention.class;
		}

		@Override
		public KeyName[] getLowCardinalityKeyNames() {
			return LowCardinality.values();
		}

		@Override
		public KeyName[] getHighCardinalityKeyNames() {
			return HighCardinality.values();
		}

	};

	/**
	 * Keys with few values, which become tags of meters and spans.
	 */
	public enum LowCardinality implements KeyName {

		/** The stream. */
		STREAM("stream"),

		/** The consumer group. */
		GROUP("group"),

		/** The id of the listener. */
		LISTENER("listener"),

		/**
		 * The type of the event, or {@code several}, where the listener names the types
		 * it takes; {@code any} where it takes every type, of which there may be many.
		 */
		TYPE("type"),

		/**
		 * One of {@code success}, {@code failure} and {@code aborted}; {@code unknown} at
		 * the start.
		 */
		OUTCOME("outcome");

		private final String key;

		LowCardinality(String key) {
			this.key = key;
		}

		@Override
		public String asString() {
			return this.key;
		}

	}

	/**
	 * Keys with many values, which become tags of spans only.
	 */
	public enum HighCardinality implements KeyName {

		/** How many events the handler is given. */
		EVENTS("pgbus.events"),

		/** The id of the event, or the first and the last, as {@code 17..42}. */
		EVENT_ID("pgbus.event.id"),

		/** The key of the event, or {@code several}; absent if there is none. */
		EVENT_KEY("pgbus.event.key"),

		/** The type of the event, or {@code several}. */
		EVENT_TYPE("pgbus.event.type"),

		/** The partition. */
		PARTITION("pgbus.partition"),

		/** Which attempt to handle the event it is, from 1. */
		ATTEMPT("pgbus.attempt");

		private final String key;

		HighCardinality(String key) {
			this.key = key;
		}

		@Override
		public String asString() {
			return this.key;
		}

	}

}
