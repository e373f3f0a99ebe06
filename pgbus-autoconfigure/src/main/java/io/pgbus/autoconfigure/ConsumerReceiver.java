package io.pgbus.autoconfigure;

import java.util.Set;

import io.pgbus.listener.BusConsumer;
import io.pgbus.store.NotificationReceiver;

/**
 * Passes on to a consumer what was heard.
 *
 * @param consumer the consumer
 */
record ConsumerReceiver(BusConsumer consumer) implements NotificationReceiver {

	@Override
	public void published(Set<Integer> streamIds) {
		streamIds.forEach(this.consumer::publishedElsewhere);
	}

	@Override
	public void publishedToAny() {
		this.consumer.publishedSomewhere();
	}

}
