package io.pgbus.core;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import io.pgbus.EventPublisher;
import io.pgbus.EventTypeResolver;
import io.pgbus.InvalidEventException;
import io.pgbus.OutgoingEvent;
import io.pgbus.PgBusException;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.EventStore;
import io.pgbus.store.EventStore.Appended;
import io.pgbus.store.NewEvent;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.unit.DataSize;

/**
 * The {@link EventPublisher}: checks and converts events, appends them in the caller's
 * transaction or one of its own, and gives notice once that is committed.
 *
 * @since 0.1.0
 */
public class DefaultEventPublisher implements EventPublisher {

	/** The most bytes that a payload may have by default. */
	public static final DataSize DEFAULT_MAX_PAYLOAD = DataSize.ofMegabytes(16);

	private final BusDatabase database;

	private final EventStore events;

	private final EventConverter converter;

	private final EventTypeResolver types;

	private final WakeUps wakeUps;

	private final DataSize maxPayload;

	/**
	 * Creates a publisher.
	 * @param database the database
	 * @param events appends the events
	 * @param converter writes the payloads
	 * @param types gives payloads their type names
	 * @param wakeUps is told of committed events
	 * @param maxPayload the most bytes that a payload may have as JSON in UTF-8
	 */
	public DefaultEventPublisher(BusDatabase database, EventStore events, EventConverter converter,
			EventTypeResolver types, WakeUps wakeUps, DataSize maxPayload) {
		this.database = database;
		this.events = events;
		this.converter = converter;
		this.types = types;
		this.wakeUps = wakeUps;
		this.maxPayload = maxPayload;
	}

	@Override
	public long publish(OutgoingEvent event) {
		NewEvent row = toRow(event);
		return inTransaction(() -> List.of(this.events.append(row))).get(0);
	}

	@Override
	public List<Long> publishAll(Collection<OutgoingEvent> events) {
		List<NewEvent> rows = events.stream().map(this::toRow).toList();
		return rows.isEmpty() ? List.of() : inTransaction(() -> this.events.appendAll(rows));
	}

	private List<Long> inTransaction(Supplier<List<Appended>> append) {
		if (this.database.inReadOnlyTransaction()) {
			throw new PgBusException("Events cannot be published in a read-only transaction. Publish in one that may "
					+ "write: @Transactional without readOnly = true.");
		}
		boolean joins = this.database.inTransaction();
		List<Appended> appended = joins ? append.get() : this.database.alone(append);
		Set<Integer> streamIds = appended.stream().map(Appended::streamId).collect(Collectors.toSet());
		if (joins && TransactionSynchronizationManager.isSynchronizationActive()) {
			TransactionSynchronizationManager.registerSynchronization(new AfterCommit(streamIds));
		}
		else {
			streamIds.forEach(this.wakeUps::published);
		}
		return appended.stream().map(Appended::id).toList();
	}

	private NewEvent toRow(OutgoingEvent event) {
		String type = (event.type() != null) ? event.type() : typeOf(event);
		String payload = this.converter.write(event.payload());
		int size = payload.getBytes(StandardCharsets.UTF_8).length;
		if (size > this.maxPayload.toBytes()) {
			throw new InvalidEventException("The payload of an event of type \"" + type + "\" for stream \""
					+ event.stream() + "\" has " + size + " bytes as JSON, but at most " + this.maxPayload.toBytes()
					+ " are allowed (pgbus.publisher.max-payload).");
		}
		return new NewEvent(event.stream(), type, event.key(), payload, this.converter.writeHeaders(event.headers()));
	}

	private String typeOf(OutgoingEvent event) {
		String type = this.types.resolve(event.payload().getClass());
		// checks the name like one that is given
		new OutgoingEvent(event.stream(), event.key(), type, event.headers(), event.payload());
		return type;
	}

	/**
	 * Gives notice when the caller's transaction is committed.
	 */
	private final class AfterCommit implements TransactionSynchronization {

		private final Set<Integer> streamIds;

		AfterCommit(Set<Integer> streamIds) {
			this.streamIds = streamIds;
		}

		@Override
		public void afterCommit() {
			this.streamIds.forEach(DefaultEventPublisher.this.wakeUps::published);
		}

	}

}
