package io.pgbus.autoconfigure;

import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;

import io.pgbus.listener.BusConsumer;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.ConsumerStore;
import io.pgbus.store.GroupStore;
import io.pgbus.store.NotificationConnectionFactory;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.Notifier;
import io.pgbus.store.StreamStore;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;

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

	static OwnDatabase of(BusDatabase database, String consumerName, PgBusProperties properties,
			@Nullable JdbcConnectionDetails details) {
		Map<String, Integer> partitions = properties.getStreams()
			.entrySet()
			.stream()
			.collect(Collectors.toMap(Map.Entry::getKey, (stream) -> stream.getValue().getPartitions()));
		StreamStore streams = new StreamStore(database, partitions);
		AtomicReference<@Nullable NotificationListener> notifications = new AtomicReference<>();
		BusConsumer consumer = new BusConsumer(new ConsumerStore(database), consumerName,
				properties.getConsumer().getTimeout(), properties.getListener().getPollInterval(), (id) -> {
					NotificationListener listener = notifications.get();
					if (listener != null) {
						listener.start(id);
					}
				});
		PgBusProperties.Notifications configured = properties.getNotifications();
		BusLogin login = configured.isEnabled()
				? BusLogin.find(BusLogin.Configured.NOTHING, details, database.dataSource()) : null;
		if (login != null) {
			notifications.set(new NotificationListener(database,
					NotificationConnectionFactory.of(login.url(), login.username(), login.password()),
					new ConsumerReceiver(consumer), "pgbus-outbox-listen"));
		}
		return new OwnDatabase(database, streams, new GroupStore(database, streams), consumer,
				configured.isEnabled()
						? new Notifier(database, consumer::id, configured.getInterval(), "pgbus-outbox-notify") : null,
				notifications.get());
	}

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
