package io.pgbus.store;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * How full a stream is and how fast it grows.
 *
 * @param stream the name of the stream
 * @param partitions the number of partitions
 * @param firstEvent the id of the oldest event, or {@code null} if there is none
 * @param firstPublishedAt when it was published
 * @param lastEvent the id of the newest event, or {@code null} if there is none
 * @param lastPublishedAt when it was published
 * @param estimatedEvents the number of events: exact up to 200 in a partition, beyond
 * that an estimate from the ids, which other streams share
 * @param estimatedRate events a second over the last minute
 * @since 0.1.0
 */
public record StreamStatus(String stream, int partitions, @Nullable Long firstEvent, @Nullable Instant firstPublishedAt,
		@Nullable Long lastEvent, @Nullable Instant lastPublishedAt, long estimatedEvents, double estimatedRate) {

}
