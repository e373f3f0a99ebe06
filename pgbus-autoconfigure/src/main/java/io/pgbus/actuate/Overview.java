package io.pgbus.actuate;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

import io.pgbus.listener.PgListenerContainer;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.store.ConsumerStatus;
import io.pgbus.store.GroupStatus;
import io.pgbus.store.StreamStatus;
import org.jspecify.annotations.Nullable;

/**
 * The bus in one look, at most {@value #LIMIT} of everything.
 *
 * @param streams the streams, by name
 * @param groups the groups, by name
 * @param consumers the running application instances, oldest first
 * @param listeners the listeners of this instance
 * @param capture the capture of tables, or {@code null} if this instance has none
 * @param outbox the outbox, or {@code null} if the bus is in the application's database
 * @param ownDatabase the streams of tables, and the groups that listen to them, if they
 * are in another database than the bus; else {@code null}
 * @since 0.1.0
 */
public record Overview(List<StreamStatus> streams, List<GroupStatus> groups, List<ConsumerStatus> consumers,
		List<ListenerStatus> listeners, @Nullable CaptureDetail capture, @Nullable OutboxDetail outbox,
		@Nullable Log ownDatabase) {

	static final int LIMIT = 500;

	static Overview of(Log bus, List<ListenerStatus> listeners, @Nullable CaptureDetail capture,
			@Nullable OutboxDetail outbox, @Nullable Log ownDatabase) {
		return new Overview(bus.streams(), bus.groups(), bus.consumers(), listeners, capture, outbox, ownDatabase);
	}

	/**
	 * What a log has.
	 *
	 * @param streams the streams, by name
	 * @param groups the groups, by name
	 * @param consumers the running application instances, oldest first
	 */
	public record Log(List<StreamStatus> streams, List<GroupStatus> groups, List<ConsumerStatus> consumers) {

		static final Log NOTHING = new Log(List.of(), List.of(), List.of());

	}

	/**
	 * A listener of this instance.
	 *
	 * @param id its id
	 * @param group its group
	 * @param streams its streams, or tables
	 * @param state what it is doing
	 */
	public record ListenerStatus(String id, String group, Set<String> streams, PgListenerContainer.State state) {

		static ListenerStatus of(PgListenerContainer container) {
			return new ListenerStatus(container.id(), container.endpoint().group(), sources(container.endpoint()),
					container.state());
		}

		private static Set<String> sources(PgListenerEndpoint endpoint) {
			Set<String> sources = new LinkedHashSet<>(endpoint.streams());
			endpoint.tables().forEach((table) -> sources.add(table.name()));
			return sources;
		}

	}

}
