package io.pgbus;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * How far a group is in one partition.
 *
 * @param stream the name of the stream
 * @param partition the partition, from 0
 * @param position the id up to which the group is done, but for events of transactions
 * that committed late
 * @param consumer the name of the consumer that holds the cursor, or {@code null} if it
 * is free
 * @param since since when it is held, by the database's clock, or {@code null} if it is
 * free
 * @param estimatedLag how many events there are above the position: exact up to 200,
 * beyond that an estimate from the ids, which other streams share; events that the
 * group's listeners pass over are among them, failed events are not
 * @since 0.1.0
 */
public record CursorInfo(String stream, int partition, long position, @Nullable String consumer,
		@Nullable Instant since, long estimatedLag) {

}
