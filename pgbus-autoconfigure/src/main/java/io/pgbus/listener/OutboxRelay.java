package io.pgbus.listener;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;

import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.RetryPolicy;
import io.pgbus.RetryPolicy.OnDead;
import io.pgbus.StartPosition;
import io.pgbus.core.EventConverter;
import io.pgbus.core.WakeUps;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.BusStatus;
import io.pgbus.store.ChangeStreamTrimmer;
import io.pgbus.store.EventStore;
import io.pgbus.store.GroupStatus;
import io.pgbus.store.NewEvent;
import io.pgbus.store.PublishedTable;
import io.pgbus.store.Retention;
import io.pgbus.store.RetentionMaintenance;
import io.pgbus.store.RetentionStore;
import io.pgbus.store.Rounds;
import io.pgbus.store.StreamStore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.context.SmartLifecycle;

/**
 * Carries events from the outbox, which is a log in the application's own database, to
 * the bus in another one.
 * <p>
 * It is a group of the outbox whose handler appends to the bus. So any instance carries
 * what any other has published, in the order of each key; and the bus's inbox, which is
 * written in the transaction that appends, sees to it that every event gets there once.
 * <p>
 * The group has all streams of the outbox but those of tables, whose changes are for
 * listeners of this application. One that is new is found by its first event, or by the
 * next look if another instance or SQL has made it; only then may its events go once they
 * are carried.
 *
 * @since 0.1.0
 */
public final class OutboxRelay implements SmartLifecycle {

	/** The name of the group, and of its listener. */
	public static final String GROUP = "pgbus-outbox";

	private static final Logger logger = LoggerFactory.getLogger(OutboxRelay.class);

	/** Never dead: what cannot be carried waits, and what has its key behind it. */
	private static final RetryPolicy RETRY = new RetryPolicy(Integer.MAX_VALUE, Duration.ofSeconds(1), 2,
			Duration.ofMinutes(1), 0.1, Set.of(), OnDead.HOLD_KEY);

	private static final Duration LOOK_INTERVAL = Duration.ofSeconds(5);

	private final ListenerRuntime runtime;

	private final DefaultPgListenerContainerRegistry registry;

	private final StreamStore streams;

	private final RetentionStore retention;

	private final RetentionMaintenance maintenance;

	private final ChangeStreamTrimmer trimmer;

	private final BusStatus status;

	private final EventConverter converter;

	private final EventStore bus;

	private final WakeUps busWakeUps;

	private final Rounds looks = new Rounds("pgbus-outbox-streams", LOOK_INTERVAL, this::look, () -> {
	});

	private volatile List<String> carried = List.of();

	private boolean failing;

	/**
	 * Creates the relay, which does nothing until it is started.
	 * @param runtime a runtime on the outbox, with the bus's inbox and a transaction
	 * manager of the bus's DataSource
	 * @param streams the streams of the outbox
	 * @param maintenance looks after the segments of the outbox; started and closed by
	 * the relay
	 * @param bus appends to the bus
	 * @param busWakeUps is told of events that are on the bus
	 */
	public OutboxRelay(ListenerRuntime runtime, StreamStore streams, RetentionMaintenance maintenance, EventStore bus,
			WakeUps busWakeUps) {
		this.runtime = runtime;
		this.registry = new DefaultPgListenerContainerRegistry(runtime);
		this.streams = streams;
		this.retention = new RetentionStore(runtime.database());
		this.maintenance = maintenance;
		this.trimmer = ChangeStreamTrimmer.ofOutbox(runtime.database());
		this.status = new BusStatus(runtime.database());
		this.converter = runtime.converter();
		this.bus = bus;
		this.busWakeUps = busWakeUps;
	}

	/**
	 * Returns the database of the outbox.
	 * @return the database
	 */
	public BusDatabase database() {
		return this.runtime.database();
	}

	/**
	 * Returns this application instance as others see it at the outbox.
	 * @return the consumer
	 */
	public BusConsumer consumer() {
		return this.runtime.consumer();
	}

	/**
	 * Returns the streams of the outbox.
	 * @return the streams
	 */
	public StreamStore streams() {
		return this.streams;
	}

	/**
	 * A stream of the outbox has new events, which are committed. Does not block.
	 * @param streamId the stream
	 */
	public void published(int streamId) {
		if (!this.runtime.consumer().hears(streamId)) {
			this.looks.hurry();
		}
		this.runtime.consumer().published(streamId);
	}

	/**
	 * Returns how much waits to be carried, by whichever instance.
	 * @return the status of the outbox's group, or {@code null} if nothing has been
	 * published yet
	 * @throws org.springframework.dao.DataAccessException if the outbox cannot be read
	 */
	public @Nullable GroupStatus status() {
		return this.status.group(GROUP);
	}

	/**
	 * Returns the other groups of the outbox, which listen to tables.
	 * @param limit the most to return
	 * @return the groups, by name
	 * @throws org.springframework.dao.DataAccessException if the outbox cannot be read
	 */
	public List<GroupStatus> tableGroups(int limit) {
		return this.status.groups(limit).stream().filter((group) -> !group.group().equals(GROUP)).toList();
	}

	/**
	 * Returns what this instance is doing with the outbox.
	 * @return the state, stopped if nothing has been published yet
	 */
	public PgListenerContainer.State state() {
		PgListenerContainer container = this.registry.find(GROUP);
		return (container != null) ? container.state() : PgListenerContainer.State.STOPPED;
	}

	@Override
	public void start() {
		this.registry.start();
		this.maintenance.start();
		this.looks.start();
		this.looks.hurry();
	}

	@Override
	public void stop() {
		this.looks.close();
		this.registry.stop();
		this.maintenance.close();
		this.carried = List.of();
	}

	@Override
	public boolean isRunning() {
		return this.registry.isRunning();
	}

	@Override
	public int getPhase() {
		return this.registry.getPhase();
	}

	private void look() {
		try {
			List<String> names = this.streams.names()
				.stream()
				.filter((name) -> !PublishedTable.isStreamOfTable(name))
				.toList();
			if (!names.equals(this.carried)) {
				carry(names);
			}
			this.trimmer.trim();
			this.failing = false;
		}
		catch (RuntimeException ex) {
			if (!this.failing) {
				logger.warn("The streams of the outbox cannot be looked after, which is tried again: {}",
						ex.toString());
			}
			this.failing = true;
		}
	}

	/**
	 * Takes the streams into the group before their events may go: what no group wants
	 * would go at once.
	 */
	private void carry(List<String> names) {
		this.registry.unregister(GROUP);
		this.registry.register(PgListenerEndpoint.id(GROUP)
			.streams(names.toArray(new String[0]))
			.start(StartPosition.earliest())
			.delivery(DeliveryMode.EXACTLY_ONCE)
			.retry(RETRY)
			.batch(true)
			.handler(null, this::append));
		this.retention.declare(names.stream().collect(Collectors.toMap((name) -> name, (name) -> Retention.CONSUMED)));
		this.carried = names;
	}

	private @Nullable CompletionStage<?> append(List<Event<Object>> events) {
		this.busWakeUps.appended(this.bus.appendAll(events.stream().map(this::toRow).toList()));
		return null;
	}

	private NewEvent toRow(Event<Object> event) {
		return new NewEvent(event.stream(), event.type(), event.key(), (String) event.payload(),
				this.converter.writeHeaders(event.headers()));
	}

}
