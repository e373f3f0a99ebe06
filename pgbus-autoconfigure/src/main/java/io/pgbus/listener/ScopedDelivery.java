package io.pgbus.listener;

import java.util.List;
import java.util.Set;

import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore.Due;
import io.pgbus.store.Holder;
import io.pgbus.store.StoredEvent;

/**
 * A delivery that makes one call of the handler, in the call's scope: what is logged and
 * observed has the transaction around the call in it, and its commit.
 */
final class ScopedDelivery implements Delivery {

	private final Delivery delivery;

	private final HandlerScope scope;

	ScopedDelivery(Delivery delivery, HandlerScope scope) {
		this.delivery = delivery;
		this.scope = scope;
	}

	@Override
	public Set<Long> takeUp(Claim claim) {
		return this.delivery.takeUp(claim);
	}

	@Override
	public void deliver(Claim claim, Holder holder, List<StoredEvent> events) {
		this.scope.run(claim, events, 1, () -> this.delivery.deliver(claim, holder, events));
	}

	@Override
	public void deliverAgain(Claim claim, Holder holder, Due due) {
		this.scope.run(claim, List.of(due.event()), due.attempts() + 1,
				() -> this.delivery.deliverAgain(claim, holder, due));
	}

	@Override
	public boolean usesLedger() {
		return this.delivery.usesLedger();
	}

}
