package io.pgbus.actuate;

import java.util.List;

import io.pgbus.store.FailedEvent;
import org.jspecify.annotations.Nullable;

/**
 * Some of a group's failed events.
 *
 * @param group the name of the group
 * @param failures the events, by id, without the stacks of their errors; of a payload the
 * first {@value #PAYLOAD_LIMIT} characters, if payloads are shown
 * @param after what to ask for to get the next page, or {@code null} if this is the last
 * @since 0.1.0
 */
public record FailurePage(String group, List<FailedEvent> failures, @Nullable Long after) {

	static final int DEFAULT_LIMIT = 20;

	static final int MAX_LIMIT = 100;

	static final int PAYLOAD_LIMIT = 2000;

	static FailurePage of(String group, List<FailedEvent> found, int limit) {
		boolean hasMore = found.size() > limit;
		List<FailedEvent> page = hasMore ? found.subList(0, limit) : found;
		return new FailurePage(group, List.copyOf(page), hasMore ? page.get(limit - 1).id() : null);
	}

}
