package io.pgbus.core;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * Names and tags the observation {@code pgbus.publish}. A bean of this type takes the
 * place of {@link DefaultEventPublisherObservationConvention}.
 *
 * @since 0.1.0
 */
public interface EventPublisherObservationConvention extends ObservationConvention<EventSenderContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof EventSenderContext;
	}

}
