package io.pgbus.listener;

import java.util.Collection;

import io.pgbus.store.ChunkFailures;
import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore;
import io.pgbus.store.FailureStore.Failure;
import io.pgbus.store.StoredEvent;
import org.jspecify.annotations.Nullable;

/**
 * Where it is recorded that an event failed, or is held, when it is handled for the first
 * time.
 */
interface FirstFailures {

	/**
	 * Records the first failure of an event.
	 * @return the event as it is tried again, or {@code null} if the claim is another's
	 * or the event is done
	 */
	@Nullable StoredEvent record(Claim claim, StoredEvent event, Failure failure);

	/**
	 * Puts events behind failed ones with their keys.
	 * @return whether the claim is still held; if not, nothing was recorded
	 */
	boolean hold(Claim claim, Collection<StoredEvent> events);

	/** Of events of a stream. */
	static FirstFailures of(FailureStore failures) {
		return new FirstFailures() {

			@Override
			public @Nullable StoredEvent record(Claim claim, StoredEvent event, Failure failure) {
				return failures.record(claim, event, failure) ? event : null;
			}

			@Override
			public boolean hold(Claim claim, Collection<StoredEvent> events) {
				return failures.hold(claim, events);
			}

		};
	}

	/** Of rows of a chunk. */
	static FirstFailures of(ChunkFailures failures) {
		return new FirstFailures() {

			@Override
			public @Nullable StoredEvent record(Claim claim, StoredEvent event, Failure failure) {
				return failures.record(claim, event, failure);
			}

			@Override
			public boolean hold(Claim claim, Collection<StoredEvent> events) {
				return failures.hold(claim, events);
			}

		};
	}

}
