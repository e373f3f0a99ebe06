package io.pgbus.core;

import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * What watches a publisher.
 *
 * @param observations the registry to observe with
 * @param convention names the observation, or {@code null} for the default
 * @param metrics counts events
 * @since 0.1.0
 */
public record PublisherInstruments(ObservationRegistry observations,
		@Nullable EventPublisherObservationConvention convention, PublisherMetrics metrics) {

	/** Nothing does. */
	public static final PublisherInstruments NONE = new PublisherInstruments(ObservationRegistry.NOOP, null,
			PublisherMetrics.NONE);

}
