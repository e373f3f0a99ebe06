package io.pgbus;

import java.time.Instant;
import java.util.List;

/**
 * What one consumer holds in one partition: events it has read that are not done.
 *
 * @param consumer the name of the consumer: of the application instance for a listener
 * @param stream the name of the stream
 * @param partition the partition, from 0
 * @param position the id above which the events lie
 * @param readingTo the id up to which they lie
 * @param eventIds the ids of the events, lowest first, at most
 * {@value ConsumerGroupOperations#MAX_COUNT}; for a listener with types or a filter also
 * those it passes over
 * @param since since when the consumer holds them, or others it read before them without
 * letting go, by the database's clock
 * @param readAt when it read these, by the database's clock
 * @since 0.1.0
 */
public record PendingEvents(String consumer, String stream, int partition, long position, long readingTo,
		List<Long> eventIds, Instant since, Instant readAt) {

	public PendingEvents {
		eventIds = List.copyOf(eventIds);
	}

}
