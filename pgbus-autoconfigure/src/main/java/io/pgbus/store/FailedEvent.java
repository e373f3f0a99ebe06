package io.pgbus.store;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * An event that a group could not handle yet, for those who look after it.
 *
 * @param id the id of the event
 * @param stream the name of its stream
 * @param partition its partition
 * @param key its key, or {@code null}
 * @param type its type
 * @param state {@code retrying}, {@code held} or {@code dead}
 * @param attempts how often it has been tried
 * @param nextAttemptAt when it is tried again, or {@code null} if it is not
 * @param firstFailedAt when it failed first, or {@code null} if it was held at once
 * @param lastFailedAt when it failed last
 * @param errorType the class of the last exception
 * @param errorMessage its message
 * @param errorStack its stack, shortened, or {@code null} if that was not asked for
 * @param publishedAt when the event was published, or {@code null} if the event is not
 * kept any more
 * @param payloadSize the bytes of its payload
 * @param payload its payload as JSON text, or the beginning of it, or {@code null} if it
 * was not asked for
 * @param headers its headers as JSON text, or the beginning of it, or {@code null}
 * @since 0.1.0
 */
public record FailedEvent(long id, String stream, int partition, @Nullable String key, String type, String state,
		int attempts, @Nullable Instant nextAttemptAt, @Nullable Instant firstFailedAt, @Nullable Instant lastFailedAt,
		@Nullable String errorType, @Nullable String errorMessage, @Nullable String errorStack,
		@Nullable Instant publishedAt, @Nullable Integer payloadSize, @Nullable String payload,
		@Nullable String headers) {

}
