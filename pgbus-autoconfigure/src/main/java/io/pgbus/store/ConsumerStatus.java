package io.pgbus.store;

import java.time.Instant;
import java.util.List;

/**
 * A running application instance, as the others see it.
 *
 * @param id the id
 * @param name a name for people
 * @param startedAt when it registered
 * @param silentSeconds the age of its last heartbeat
 * @param dead whether the others take it for dead, and are about to free what it holds
 * @param locked whether it holds the lock by which the others notice its end at once
 * @param listeners its listeners, each as <code>listener (group)</code>
 * @since 0.1.0
 */
public record ConsumerStatus(int id, String name, Instant startedAt, double silentSeconds, boolean dead, boolean locked,
		List<String> listeners) {

}
