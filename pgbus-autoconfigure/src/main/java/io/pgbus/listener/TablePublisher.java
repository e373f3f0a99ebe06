package io.pgbus.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;

import io.pgbus.BatchListenerFailedException;
import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.EventErrorHandler.Decision;
import io.pgbus.ListenedTable;
import io.pgbus.RetryPolicy;
import io.pgbus.RetryPolicy.OnDead;
import io.pgbus.core.EventConverter;
import io.pgbus.core.WakeUps;
import io.pgbus.store.EventStore;
import io.pgbus.store.NewEvent;
import io.pgbus.store.PublishedTable;
import org.jspecify.annotations.Nullable;

/**
 * Publishes the changes of tables as events: with the key of the row, in its order, with
 * the operation as the type and the JSON of the change as the payload. It is a table
 * listener whose handler publishes in its transaction, so each change is published once.
 *
 * @since 0.1.0
 */
public final class TablePublisher {

	/** What the names of the groups begin with; the stream follows. */
	public static final String GROUP_PREFIX = OutboxRelay.GROUP + ":";

	/**
	 * Dead is only what a filter failed on: whether it is to be published nobody can
	 * tell.
	 */
	private static final RetryPolicy RETRY = new RetryPolicy(Integer.MAX_VALUE, Duration.ofSeconds(1), 2,
			Duration.ofMinutes(1), 0.1, RetryPolicy.DEFAULT.notRetried(), OnDead.CONTINUE);

	private final EventStore events;

	private final EventConverter converter;

	private final WakeUps wakeUps;

	/**
	 * Creates a publisher.
	 * @param events appends in the transaction of the handler
	 * @param converter writes headers
	 * @param wakeUps is told of committed events
	 */
	public TablePublisher(EventStore events, EventConverter converter, WakeUps wakeUps) {
		this.events = events;
		this.converter = converter;
		this.wakeUps = wakeUps;
	}

	/**
	 * Makes the listener that publishes to a stream. Its id and its group are the name of
	 * the stream behind {@link #GROUP_PREFIX}.
	 * @param stream the name of the stream
	 * @param tables the tables, and what is wanted of them
	 * @return the listener
	 * @throws IllegalArgumentException if there is no table, or the stream is that of one
	 */
	public PgListenerEndpoint endpoint(String stream, List<ListenedTable> tables) {
		if (tables.isEmpty()) {
			throw new IllegalArgumentException(
					"No table is named whose changes are to be published to the stream \"" + stream + "\"");
		}
		if (PublishedTable.isStreamOfTable(stream)) {
			throw new IllegalArgumentException("The stream \"" + stream
					+ "\" has the name of one that is captured from a table. Give it another.");
		}
		return PgListenerEndpoint.id(GROUP_PREFIX + stream)
			.tables(tables.toArray(ListenedTable[]::new))
			.delivery(DeliveryMode.EXACTLY_ONCE)
			.retry(RETRY)
			.errorHandler((event, group, failure) -> Decision.RETRY)
			.batch(true)
			.handler(null, (changes) -> publish(stream, changes));
	}

	private @Nullable CompletionStage<?> publish(String stream, List<Event<Object>> changes) {
		List<NewEvent> events = new ArrayList<>(changes.size());
		for (Event<Object> change : changes) {
			try {
				this.converter.checkForGroup(change);
			}
			catch (RuntimeException ex) {
				throw new BatchListenerFailedException("A change cannot be published", ex, events.size());
			}
			events.add(new NewEvent(stream, change.type(), change.key(), (String) change.payload(),
					this.converter.writeHeaders(change.headers())));
		}
		this.wakeUps.appended(this.events.appendAll(events));
		return null;
	}

}
