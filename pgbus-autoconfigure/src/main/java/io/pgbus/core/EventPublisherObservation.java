package io.pgbus.core;

import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.docs.ObservationDocumentation;

/**
 * What is observed of publishers.
 *
 * @since 0.1.0
 */
public enum EventPublisherObservation implements ObservationDocumentation {

	/**
	 * A call that publishes events: their conversion and the statements that write them,
	 * but not the commit of a transaction of the caller.
	 */
	PUBLISH {

		@Override
		public Class<DefaultEventPublisherObservationConvention> getDefaultConvention() {
			return DefaultEventPublisherObservationConvention.class;
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

		/** The stream, or {@code several}. */
		STREAM("stream"),

		/** One of {@code success} and {@code failure}; {@code unknown} at the start. */
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

		/** How many events the call publishes. */
		EVENTS("pgbus.events"),

		/** The id of the event, or the first and the last, as {@code 17..42}. */
		EVENT_ID("pgbus.event.id"),

		/** The key of the event, or {@code several}; absent if there is none. */
		EVENT_KEY("pgbus.event.key"),

		/**
		 * The type that the caller gave the event, or {@code several}; absent if it is
		 * left to the payload's class.
		 */
		EVENT_TYPE("pgbus.event.type");

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
