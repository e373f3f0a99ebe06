package io.pgbus.listener;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

import io.pgbus.BatchListenerFailedException;
import io.pgbus.Event;
import io.pgbus.UnreadableEventException;
import io.pgbus.core.EventConverter;
import io.pgbus.store.Claim;
import io.pgbus.store.StoredEvent;
import org.jspecify.annotations.Nullable;

/**
 * Calls a listener's handler.
 */
final class HandlerInvoker {

	private final PgListenerEndpoint endpoint;

	private final int groupId;

	private final EventConverter converter;

	private final @Nullable HandlerScope scope;

	/**
	 * Creates the invoker.
	 * @param endpoint the listener
	 * @param groupId its group
	 * @param converter reads events
	 * @param scope surrounds each call, or {@code null} if the caller sees to that
	 */
	HandlerInvoker(PgListenerEndpoint endpoint, int groupId, EventConverter converter, @Nullable HandlerScope scope) {
		this.endpoint = endpoint;
		this.groupId = groupId;
		this.converter = converter;
		this.scope = scope;
	}

	/**
	 * Calls the handler, with all events or with one after the other, as it takes them,
	 * and waits for what it leaves to others.
	 * @param claim where the events are from
	 * @param stored the events
	 * @param attempt which attempt this is
	 * @throws HandlerFailure if it fails in any way
	 */
	void invoke(Claim claim, List<StoredEvent> stored, int attempt) {
		if (this.endpoint.batch() || stored.size() == 1) {
			callInScope(claim, stored, attempt);
			return;
		}
		for (int i = 0; i < stored.size(); i++) {
			try {
				callInScope(claim, List.of(stored.get(i)), attempt);
			}
			catch (HandlerFailure failure) {
				throw failure.ofEvent(i);
			}
		}
	}

	private void callInScope(Claim claim, List<StoredEvent> stored, int attempt) {
		if (this.scope != null) {
			this.scope.run(claim, stored, attempt, () -> call(claim, stored, attempt));
		}
		else {
			call(claim, stored, attempt);
		}
	}

	private void call(Claim claim, List<StoredEvent> stored, int attempt) {
		try {
			List<Event<Object>> events = new ArrayList<>(stored.size());
			for (StoredEvent event : stored) {
				events.add(read(claim, event, attempt, events.size()));
			}
			CompletionStage<?> stage = this.endpoint.handler().handle(events);
			if (stage != null) {
				await(stage.toCompletableFuture());
			}
		}
		catch (Throwable ex) {
			throw new HandlerFailure(ex, stored.size());
		}
	}

	/** Returns an event with its payload as JSON text, for those who hear of failures. */
	Event<String> asText(Claim claim, StoredEvent stored, int attempt) {
		return this.converter.readLeniently(stored, claim.stream(), claim.partitionOf(stored), attempt);
	}

	private Event<Object> read(Claim claim, StoredEvent stored, int attempt, int index) {
		try {
			Event<String> event = this.converter.read(stored, claim.stream(), claim.partitionOf(stored), attempt);
			if (!this.endpoint.tables().isEmpty()) {
				event = this.converter.forGroup(event, this.groupId);
			}
			if (this.endpoint.payloadType() == null) {
				return event.withPayload(event.payload());
			}
			return event.withPayload(this.converter.readPayload(event, this.endpoint.payloadType()));
		}
		catch (UnreadableEventException ex) {
			throw new BatchListenerFailedException("Unreadable event", ex, index);
		}
	}

	/**
	 * The position waits for the work, and so does a stop: an interrupt must not make it
	 * look done or failed while it goes on.
	 */
	private static void await(Future<?> work) throws ExecutionException {
		boolean interrupted = false;
		try {
			while (true) {
				try {
					work.get();
					return;
				}
				catch (InterruptedException ex) {
					interrupted = true;
				}
			}
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

}
