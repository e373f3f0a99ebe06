package io.pgbus;

import java.time.Instant;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * An event as a listener sees it.
 *
 * @param <T> the type of the payload
 * @param id the id, unique in the bus; ids of one stream grow, but not without gaps
 * @param stream the name of the stream
 * @param partition the partition of the stream, from 0
 * @param type the type name
 * @param key the key, or {@code null}
 * @param payload the payload
 * @param headers the headers
 * @param publishedAt when the event was written, by the database's clock
 * @param attempt which attempt of this group to handle the event this is, from 1
 * @since 0.1.0
 */
public record Event<T>(long id, String stream, int partition, String type, @Nullable String key, T payload,
		Map<String, String> headers, Instant publishedAt, int attempt) {

	/**
	 * Returns this event with another payload.
	 * @param <S> the type of the other payload
	 * @param payload the other payload
	 * @return the event
	 */
	public <S> Event<S> withPayload(S payload) {
		return new Event<>(this.id, this.stream, this.partition, this.type, this.key, payload, this.headers,
				this.publishedAt, this.attempt);
	}

}
