package io.pgbus.autoconfigure;

import io.pgbus.listener.BusConsumer;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.GroupStore;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.Notifier;
import io.pgbus.store.StreamStore;
import org.jspecify.annotations.Nullable;

/**
 * The application's own database where the bus is in another one. It has a log like the
 * bus's, the outbox, for what is on its way there and for the changes of tables; and the
 * inbox of listeners.
 *
 * @param database the database
 * @param streams the streams of the outbox
 * @param groups the groups of the outbox
 * @param consumer this application instance as others see it there
 * @param notifier tells other instances of changes of tables, or {@code null} if they
 * poll
 * @param notifications hears of them, and lets others see at once when this instance is
 * gone, or {@code null} if they poll; started by the consumer
 */
record OwnDatabase(BusDatabase database, StreamStore streams, GroupStore groups, BusConsumer consumer,
		@Nullable Notifier notifier, @Nullable NotificationListener notifications) implements AutoCloseable {

	/** Changes of tables have been appended to a stream of the outbox. */
	void captured(int streamId) {
		this.consumer.published(streamId);
		if (this.notifier != null) {
			this.notifier.published(streamId);
		}
	}

	@Override
	public void close() {
		if (this.notifier != null) {
			this.notifier.close();
		}
		if (this.notifications != null) {
			this.notifications.close();
		}
	}

}
