package io.pgbus.store;

import java.util.List;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * What one listener takes from its group.
 *
 * @param groupId the group
 * @param streamIds the streams
 * @param types the types of events it handles, or {@code null} for every type
 * @param filter a condition on the event's columns in SQL, or {@code null} for none
 * @param batchSize the most events that one read returns
 * @param batchBytes the most bytes of payload that one read returns, the first event
 * aside
 * @param effectsAreElsewhere whether what its handler does is in another database
 * @since 0.1.0
 */
public record Subscription(int groupId, List<Integer> streamIds, @Nullable Set<String> types, @Nullable String filter,
		int batchSize, long batchBytes, boolean effectsAreElsewhere) {

	/**
	 * Creates a subscription whose handler's effects are in the bus's database, or are of
	 * no interest to it.
	 * @param groupId the group
	 * @param streamIds the streams
	 * @param types the types of events it handles, or {@code null} for every type
	 * @param filter a condition on the event's columns in SQL, or {@code null} for none
	 * @param batchSize the most events that one read returns
	 * @param batchBytes the most bytes of payload that one read returns
	 */
	public Subscription(int groupId, List<Integer> streamIds, @Nullable Set<String> types, @Nullable String filter,
			int batchSize, long batchBytes) {
		this(groupId, streamIds, types, filter, batchSize, batchBytes, false);
	}

	Subscription withoutFilter() {
		return new Subscription(this.groupId, this.streamIds, this.types, null, this.batchSize, this.batchBytes,
				this.effectsAreElsewhere);
	}

}
