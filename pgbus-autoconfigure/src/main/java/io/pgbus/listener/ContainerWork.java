package io.pgbus.listener;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;

import io.pgbus.store.Claim;
import io.pgbus.store.DatabaseTrouble;
import io.pgbus.store.FailureStore;
import io.pgbus.store.StoredEvent;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessResourceFailureException;

/**
 * What the workers of one container work with.
 */
final class ContainerWork {

	/** Transactions that get into each other's way this often have a reason to. */
	private static final int MAX_CONFLICTS = 10;

	/** An outage that only this event meets, this often, is the event's. */
	private static final int MAX_OUTAGES = 3;

	private final TimedCursors cursors;

	private final TimedCursors unfilteredCursors;

	private final @Nullable Filter filter;

	private final FailureStore failures;

	private final HandlerInvoker handler;

	private final Delivery delivery;

	private final FailurePolicy policy;

	private final @Nullable Set<String> types;

	private final int batchSize;

	private final int groupSize;

	private final BooleanSupplier goesOn;

	private final CursorBackOff backOff;

	private final @Nullable Chunks chunks;

	private final Map<Long, Integer> outages = new ConcurrentHashMap<>();

	ContainerWork(TimedCursors cursors, TimedCursors unfilteredCursors, @Nullable Filter filter, FailureStore failures,
			HandlerInvoker handler, Delivery delivery, FailurePolicy policy, @Nullable Set<String> types, int batchSize,
			int groupSize, CursorBackOff backOff, BooleanSupplier goesOn, @Nullable Chunks chunks) {
		this.cursors = cursors;
		this.unfilteredCursors = unfilteredCursors;
		this.filter = filter;
		this.failures = failures;
		this.handler = handler;
		this.delivery = delivery;
		this.policy = policy;
		this.types = types;
		this.batchSize = batchSize;
		this.groupSize = groupSize;
		this.backOff = backOff;
		this.goesOn = goesOn;
		this.chunks = chunks;
	}

	/** The backfills, {@code null} if the listener cannot have any. */
	@Nullable Chunks chunks() {
		return this.chunks;
	}

	TimedCursors cursors() {
		return this.cursors;
	}

	/** For reads in which the filter fails. */
	TimedCursors unfilteredCursors() {
		return this.unfilteredCursors;
	}

	/** Asks the filter about single events, {@code null} if there is none. */
	@Nullable Filter filter() {
		return this.filter;
	}

	CursorBackOff backOff() {
		return this.backOff;
	}

	FailureStore failures() {
		return this.failures;
	}

	HandlerInvoker handler() {
		return this.handler;
	}

	Delivery delivery() {
		return this.delivery;
	}

	FailurePolicy policy() {
		return this.policy;
	}

	@Nullable Set<String> types() {
		return this.types;
	}

	boolean handles(String type) {
		return this.types == null || this.types.contains(type);
	}

	/** The most events of one read. */
	int batchSize() {
		return this.batchSize;
	}

	/** The most events that are handled together. */
	int groupSize() {
		return this.groupSize;
	}

	/** Whether the container wants the next event to be handled. */
	boolean goesOn() {
		return this.goesOn.getAsBoolean();
	}

	/**
	 * Makes an attempt. What the database alone is to blame for is no failure: a conflict
	 * is tried again at once, an outage goes up.
	 * @param eventId the first of the events
	 * @param delivery the attempt
	 * @return the failure, or {@code null}
	 */
	@Nullable HandlerFailure attempt(long eventId, Runnable delivery) {
		int conflicts = 0;
		while (true) {
			try {
				delivery.run();
				this.outages.remove(eventId);
				return null;
			}
			catch (HandlerFailure failure) {
				switch (DatabaseTrouble.of(failure.reason())) {
					case CONFLICT -> {
						conflicts++;
						if (conflicts > MAX_CONFLICTS) {
							return failure;
						}
					}
					case OUTAGE -> {
						if (this.outages.merge(eventId, 1, Integer::sum) <= MAX_OUTAGES) {
							throw new DataAccessResourceFailureException(
									"The database went away under event " + eventId, failure.reason());
						}
						this.outages.remove(eventId);
						return failure;
					}
					case NONE -> {
						this.outages.remove(eventId);
						return failure;
					}
				}
			}
			finally {
				// a handler that has left it set means itself, not the worker
				Thread.interrupted();
			}
		}
	}

	/**
	 * Asks a listener's filter about an event.
	 */
	interface Filter {

		boolean matches(Claim claim, StoredEvent event);

	}

}
