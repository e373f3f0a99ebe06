package io.pgbus.core;

import java.util.Collection;
import java.util.Set;
import java.util.stream.Collectors;

import io.pgbus.store.EventStore.Appended;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Is told which streams have new events once they can be read, and wakes those who wait
 * for them, here and in other instances.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface WakeUps {

	/**
	 * A stream has new events, which are committed. Must not block.
	 * @param streamId the stream
	 */
	void published(int streamId);

	/**
	 * Events have been appended in the caller's transaction. Tells of them when that is
	 * committed.
	 * @param appended the events
	 * @throws IllegalStateException if there is no transaction
	 */
	default void appended(Collection<Appended> appended) {
		Set<Integer> streamIds = appended.stream().map(Appended::streamId).collect(Collectors.toSet());
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void afterCommit() {
				streamIds.forEach(WakeUps.this::published);
			}

		});
	}

}
