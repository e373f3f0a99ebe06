package io.pgbus.listener;

import java.util.List;
import java.util.concurrent.CompletionStage;

import io.pgbus.Event;
import org.jspecify.annotations.Nullable;

/**
 * What a listener does with events.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface EventHandler {

	/**
	 * Handles events. With {@link io.pgbus.DeliveryMode#EXACTLY_ONCE} this runs in a
	 * Spring transaction on the bus's DataSource, otherwise without one.
	 * @param events one event, or for a batch listener one or more; the payloads are of
	 * the endpoint's payload type
	 * @return {@code null} if the events are handled, or a stage that completes when they
	 * are
	 * @throws Exception if handling fails; the events are tried again by the endpoint's
	 * retry policy
	 */
	@Nullable CompletionStage<?> handle(List<Event<Object>> events) throws Exception;

}
