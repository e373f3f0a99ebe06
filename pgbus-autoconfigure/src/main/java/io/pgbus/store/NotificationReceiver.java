package io.pgbus.store;

import java.util.Set;

/**
 * Is told by a {@link NotificationListener} of events that others have published. It is
 * called by the listener's thread, which hears nothing meanwhile, so it should only pass
 * the news on. What it throws is logged, and otherwise ignored.
 *
 * @since 0.1.0
 */
public interface NotificationReceiver {

	/**
	 * Streams have new events, which can be read.
	 * @param streamIds the ids of the streams, at least one
	 */
	void published(Set<Integer> streamIds);

	/**
	 * Any stream may have new events: the sender did not say which, or notifications may
	 * have been missed while there was no connection.
	 */
	void publishedToAny();

}
