package io.pgbus.listener;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;

import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore.Due;
import io.pgbus.store.Holder;
import io.pgbus.store.StoredEvent;

/**
 * Counts what is delivered for good.
 */
final class CountedDelivery implements Delivery {

	private final Delivery delivery;

	private final String group;

	private final ListenerMetrics metrics;

	CountedDelivery(Delivery delivery, String group, ListenerMetrics metrics) {
		this.delivery = delivery;
		this.group = group;
		this.metrics = metrics;
	}

	@Override
	public Set<Long> takeUp(Claim claim) {
		return this.delivery.takeUp(claim);
	}

	@Override
	public void deliver(Claim claim, Holder holder, List<StoredEvent> events) {
		Instant start = Instant.now();
		this.delivery.deliver(claim, holder, events);
		this.metrics.handled(claim.stream(), this.group, events.size());
		for (StoredEvent event : events) {
			Duration delay = Duration.between(event.publishedAt(), start);
			// the clocks may differ
			this.metrics.delayed(claim.stream(), this.group, delay.isNegative() ? Duration.ZERO : delay);
		}
	}

	@Override
	public void deliverAgain(Claim claim, Holder holder, Due due) {
		this.delivery.deliverAgain(claim, holder, due);
		this.metrics.handled(claim.stream(), this.group, 1);
	}

	@Override
	public boolean usesLedger() {
		return this.delivery.usesLedger();
	}

}
