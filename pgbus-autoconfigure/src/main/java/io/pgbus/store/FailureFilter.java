package io.pgbus.store;

import java.util.HashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * Which failed events of a group. What is {@code null} does not matter.
 *
 * @param eventId the id of the event
 * @param state {@code retrying}, {@code held} or {@code dead}
 * @param key the key
 * @param type the type
 * @since 0.1.0
 */
public record FailureFilter(@Nullable Long eventId, @Nullable String state, @Nullable String key,
		@Nullable String type) {

	/** The failed event f is among them. */
	static final String MATCHES = """
			(:eventId::bigint is null or f.event_id = :eventId) and (:state::text is null or f.state = :state)
			and (:key::text is null or f.key = :key) and (:type::text is null or f.type = :type)
			""";

	Map<String, @Nullable Object> parameters() {
		Map<String, @Nullable Object> parameters = new HashMap<>();
		parameters.put("eventId", this.eventId);
		parameters.put("state", this.state);
		parameters.put("key", this.key);
		parameters.put("type", this.type);
		return parameters;
	}

}
