package io.pgbus.store;

import java.time.Instant;

import io.pgbus.store.GroupStatus.FailureCounts;
import org.jspecify.annotations.Nullable;

/**
 * How far a group is in one partition.
 *
 * @param stream the name of the stream
 * @param partition the partition, from 0
 * @param position the id up to which events are done, but for those of transactions that
 * commit late
 * @param estimatedLag how many events wait above it: exact up to 200, beyond that an
 * estimate from the ids, which other streams share
 * @param lagSeconds the age of the oldest event that waits, 0 if none does
 * @param consumer the name of the consumer that holds the cursor, or {@code null} if it
 * is free
 * @param worker which of the consumer's workers
 * @param heldSince since when it is held
 * @param readingSince since when the worker has the events it handles
 * @param afterEvent the id behind which they lie
 * @param upToEvent the id up to which they lie
 * @param failures the failed events by state
 * @since 0.1.0
 */
public record CursorStatus(String stream, int partition, long position, long estimatedLag, double lagSeconds,
		@Nullable String consumer, @Nullable Integer worker, @Nullable Instant heldSince,
		@Nullable Instant readingSince, @Nullable Long afterEvent, @Nullable Long upToEvent, FailureCounts failures) {

}
