package io.pgbus.listener;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * Names and tags the observation {@code pgbus.handle}. A bean of this type takes the
 * place of {@link DefaultPgListenerObservationConvention}.
 *
 * @since 0.1.0
 */
public interface PgListenerObservationConvention extends ObservationConvention<EventReceiverContext> {

	@Override
	default boolean supportsContext(Observation.Context context) {
		return context instanceof EventReceiverContext;
	}

}
