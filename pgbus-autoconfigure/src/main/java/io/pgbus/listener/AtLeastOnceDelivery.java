package io.pgbus.listener;

import java.util.List;

import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore;
import io.pgbus.store.FailureStore.Due;
import io.pgbus.store.Holder;
import io.pgbus.store.StoredEvent;

/**
 * The handler runs without a transaction; that an event is done is saved afterwards.
 */
final class AtLeastOnceDelivery implements Delivery {

	private final HandlerInvoker handler;

	private final FailureStore failures;

	AtLeastOnceDelivery(HandlerInvoker handler, FailureStore failures) {
		this.handler = handler;
		this.failures = failures;
	}

	@Override
	public void deliver(Claim claim, Holder holder, List<StoredEvent> events) {
		this.handler.invoke(claim, events, 1);
	}

	@Override
	public void deliverAgain(Claim claim, Holder holder, Due due) {
		this.handler.invoke(claim, List.of(due.event()), due.attempts() + 1);
		if (!this.failures.resolve(claim, due)) {
			throw new LostCursorException("It was taken over while failed event " + due.event().id() + " was tried");
		}
	}

	@Override
	public boolean usesLedger() {
		return false;
	}

}
