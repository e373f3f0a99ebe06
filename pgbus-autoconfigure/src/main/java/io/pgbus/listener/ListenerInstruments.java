package io.pgbus.listener;

import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

import org.springframework.context.ApplicationEventPublisher;

/**
 * What watches listeners.
 *
 * @param observations the registry to observe with
 * @param convention names the observation, or {@code null} for the default
 * @param metrics counts and times
 * @param events is told when a container changes its state, by
 * {@link PgListenerContainerEvent}
 * @since 0.1.0
 */
public record ListenerInstruments(ObservationRegistry observations,
		@Nullable PgListenerObservationConvention convention, ListenerMetrics metrics,
		ApplicationEventPublisher events) {

	/** Nothing does. */
	public static final ListenerInstruments NONE = new ListenerInstruments(ObservationRegistry.NOOP, null,
			ListenerMetrics.NONE, (event) -> {
			});

}
