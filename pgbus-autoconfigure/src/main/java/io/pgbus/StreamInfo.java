package io.pgbus;

import org.jspecify.annotations.Nullable;

/**
 * A stream.
 *
 * @param name the name
 * @param partitions the number of partitions
 * @param firstId the id of the first event that is kept, or {@code null} if it is empty
 * @param lastId the id of the last event, or {@code null} if it is empty
 * @param estimatedEvents how many events it keeps: exact up to 200 in a partition, beyond
 * that an estimate from the ids, which other streams share
 * @since 0.1.0
 */
public record StreamInfo(String name, int partitions, @Nullable Long firstId, @Nullable Long lastId,
		long estimatedEvents) {

}
