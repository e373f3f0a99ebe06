package io.pgbus.listener;

import java.time.Duration;
import java.util.List;
import java.util.Set;

import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore.Due;
import io.pgbus.store.Holder;
import io.pgbus.store.StoredEvent;
import org.jspecify.annotations.Nullable;

/**
 * For how long a container has handled no event. It counts as idle once for each time
 * that this is longer than an interval.
 */
final class Idleness {

	private final @Nullable Duration interval;

	private int busy;

	private boolean told;

	private long sinceNanos = System.nanoTime();

	/**
	 * Creates the watch.
	 * @param interval the interval, or {@code null} if the container never counts as idle
	 */
	Idleness(@Nullable Duration interval) {
		this.interval = interval;
	}

	/** The time begins anew. */
	synchronized void restart() {
		this.told = false;
		this.sinceNanos = System.nanoTime();
	}

	/** How long a worker may wait until the container may be idle. */
	synchronized long nanosLeft() {
		if (this.interval == null || this.busy > 0 || this.told) {
			return Long.MAX_VALUE;
		}
		return Math.max(0, this.interval.toNanos() - (System.nanoTime() - this.sinceNanos));
	}

	/** Whether the container is idle, and this is the first to see it. */
	synchronized boolean begins() {
		boolean begins = nanosLeft() == 0;
		this.told |= begins;
		return begins;
	}

	/** Makes a delivery end the idleness. */
	Delivery watching(Delivery delivery) {
		return (this.interval != null) ? new WatchedDelivery(delivery) : delivery;
	}

	private synchronized void busy(int change) {
		this.busy += change;
		restart();
	}

	/**
	 * While it delivers, the container is not idle.
	 */
	private final class WatchedDelivery implements Delivery {

		private final Delivery delivery;

		WatchedDelivery(Delivery delivery) {
			this.delivery = delivery;
		}

		@Override
		public Set<Long> takeUp(Claim claim) {
			return this.delivery.takeUp(claim);
		}

		@Override
		public void deliver(Claim claim, Holder holder, List<StoredEvent> events) {
			busy(1);
			try {
				this.delivery.deliver(claim, holder, events);
			}
			finally {
				busy(-1);
			}
		}

		@Override
		public void deliverAgain(Claim claim, Holder holder, Due due) {
			busy(1);
			try {
				this.delivery.deliverAgain(claim, holder, due);
			}
			finally {
				busy(-1);
			}
		}

		@Override
		public boolean usesLedger() {
			return this.delivery.usesLedger();
		}

	}

}
