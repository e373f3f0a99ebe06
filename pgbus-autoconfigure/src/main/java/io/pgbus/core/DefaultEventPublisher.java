package io.pgbus.core;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import io.micrometer.observation.Observation;
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

	private static final EventPublisherObservationConvention CONVENTION = new DefaultEventPublisherObservationConvention();

	private final BusDatabase database;

	private final EventStore events;

	private final EventConverter converter;

	private final EventTypeResolver types;

	private final WakeUps wakeUps;

	private final DataSize maxPayload;

	private final PublisherInstruments instruments;

	/**
	 * Creates a publisher that nothing watches.
	 * @param database the database
	 * @param events appends the events
	 * @param converter writes the payloads
	 * @param types gives payloads their type names
	 * @param wakeUps is told of committed events
	 * @param maxPayload the most bytes that a payload may have as JSON in UTF-8
	 */
	public DefaultEventPublisher(BusDatabase database, EventStore events, EventConverter converter,
			EventTypeResolver types, WakeUps wakeUps, DataSize maxPayload) {
		this(database, events, converter, types, wakeUps, maxPayload, PublisherInstruments.NONE);
	}

	/**
	 * Creates a publisher.
	 * @param database the database
	 * @param events appends the events
	 * @param converter writes the payloads
	 * @param types gives payloads their type names
	 * @param wakeUps is told of committed events
	 * @param maxPayload the most bytes that a payload may have as JSON in UTF-8
	 * @param instruments what watches it
	 */
	public DefaultEventPublisher(BusDatabase database, EventStore events, EventConverter converter,
			EventTypeResolver types, WakeUps wakeUps, DataSize maxPayload, PublisherInstruments instruments) {
		this.database = database;
		this.events = events;
		this.converter = converter;
		this.types = types;
		this.wakeUps = wakeUps;
		this.maxPayload = maxPayload;
		this.instruments = instruments;
	}

	@Override
	public long publish(OutgoingEvent event) {
		return observed(List.of(event), (propagated) -> {
			NewEvent row = toRow(event, propagated);
			return inTransaction(List.of(row), () -> List.of(this.events.append(row)));
		}).get(0);
	}

	@Override
	public List<Long> publishAll(Collection<OutgoingEvent> events) {
		if (events.isEmpty()) {
			return List.of();
		}
		List<OutgoingEvent> all = List.copyOf(events);
		return observed(all, (propagated) -> {
			List<NewEvent> rows = all.stream().map((event) -> toRow(event, propagated)).toList();
			return inTransaction(rows, () -> this.events.appendAll(rows));
		});
	}

	/** The publication is given the headers that carry the observation's context. */
	private List<Long> observed(List<OutgoingEvent> events, Function<Map<String, String>, List<Long>> publication) {
		Observation observation = EventPublisherObservation.PUBLISH.observation(this.instruments.convention(),
				CONVENTION, () -> new EventSenderContext(events), this.instruments.observations());
		if (!(observation.getContext() instanceof EventSenderContext context)) {
			return publication.apply(Map.of());
		}
		return Objects.requireNonNull(observation.observe(() -> {
			Map<String, String> propagated = context.getCarrier();
			List<Long> ids = publication.apply((propagated != null) ? propagated : Map.of());
			context.written(ids);
			return ids;
		}));
	}

	private List<Long> inTransaction(List<NewEvent> rows, Supplier<List<Appended>> append) {
		if (this.database.inReadOnlyTransaction()) {
			throw new PgBusException("Events cannot be published in a read-only transaction. Publish in one that may "
					+ "write: @Transactional without readOnly = true.");
		}
		boolean joins = this.database.inTransaction();
		List<Appended> appended = joins ? append.get() : this.database.alone(append);
		Set<Integer> streamIds = appended.stream().map(Appended::streamId).collect(Collectors.toSet());
		Committed committed = new Committed(streamIds, rows);
		if (joins && TransactionSynchronizationManager.isSynchronizationActive()) {
			TransactionSynchronizationManager.registerSynchronization(committed);
		}
		else {
			committed.afterCommit();
		}
		return appended.stream().map(Appended::id).toList();
	}

	private NewEvent toRow(OutgoingEvent event, Map<String, String> propagated) {
		String type = (event.type() != null) ? event.type() : typeOf(event);
		String payload = this.converter.write(event.payload());
		int size = payload.getBytes(StandardCharsets.UTF_8).length;
		if (size > this.maxPayload.toBytes()) {
			throw new InvalidEventException("The payload of an event of type \"" + type + "\" for stream \""
					+ event.stream() + "\" has " + size + " bytes as JSON, but at most " + this.maxPayload.toBytes()
					+ " are allowed (pgbus.publisher.max-payload).");
		}
		return new NewEvent(event.stream(), type, event.key(), payload,
				this.converter.writeHeaders(headers(event, propagated)));
	}

	/** An event that is passed on with its headers belongs to the trace it is now in. */
	private static Map<String, String> headers(OutgoingEvent event, Map<String, String> propagated) {
		if (propagated.isEmpty()) {
			return event.headers();
		}
		Map<String, String> headers = new LinkedHashMap<>(event.headers());
		headers.putAll(propagated);
		return headers;
	}

	private String typeOf(OutgoingEvent event) {
		String type = this.types.resolve(event.payload().getClass());
		// checks the name like one that is given
		new OutgoingEvent(event.stream(), event.key(), type, event.headers(), event.payload());
		return type;
	}

	/**
	 * Gives notice of events once they are committed.
	 */
	private final class Committed implements TransactionSynchronization {

		private final Set<Integer> streamIds;

		private final Map<String, Integer> counts = new HashMap<>();

		Committed(Set<Integer> streamIds, List<NewEvent> rows) {
			this.streamIds = streamIds;
			rows.forEach((row) -> this.counts.merge(row.stream(), 1, Integer::sum));
		}

		@Override
		public void afterCommit() {
			this.streamIds.forEach(DefaultEventPublisher.this.wakeUps::published);
			this.counts.forEach(DefaultEventPublisher.this.instruments.metrics()::published);
		}

	}

}
