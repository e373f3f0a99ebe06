package io.pgbus;

import java.util.Collection;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * Publishes events. Each method joins the caller's Spring transaction on the bus's
 * DataSource: the event exists if and when that transaction commits. Where there is no
 * such transaction the method commits alone before it returns.
 * <p>
 * Every method throws {@link InvalidEventException} before anything is written if an
 * event cannot be published as it is, {@link PgBusException} likewise if the caller's
 * transaction is read-only, and Spring's {@code DataAccessException} if the database
 * refuses. Safe for use by any number of threads.
 *
 * @since 0.1.0
 */
public interface EventPublisher {

	/**
	 * Publishes a payload without a key.
	 * @param stream the stream's name, 1 to 200 characters; made on first use
	 * @param payload the payload, written as JSON
	 * @return the id of the event
	 */
	default long publish(String stream, Object payload) {
		return publish(stream, null, payload);
	}

	/**
	 * Publishes a payload. Events with the same key are delivered in order.
	 * @param stream the stream's name, 1 to 200 characters; made on first use
	 * @param key the key, 1 to 1,000 characters of at most 2,000 bytes in UTF-8;
	 * {@code null} if the order does not matter
	 * @param payload the payload, written as JSON
	 * @return the id of the event
	 */
	default long publish(String stream, @Nullable String key, Object payload) {
		return publish(OutgoingEvent.to(stream).key(key).payload(payload));
	}

	/**
	 * Publishes an event.
	 * @param event the event
	 * @return the id of the event
	 */
	long publish(OutgoingEvent event);

	/**
	 * Publishes events, a thousand by a statement, in one transaction.
	 * @param events the events, of any streams
	 * @return the ids, in the order of the events
	 */
	List<Long> publishAll(Collection<OutgoingEvent> events);

}
