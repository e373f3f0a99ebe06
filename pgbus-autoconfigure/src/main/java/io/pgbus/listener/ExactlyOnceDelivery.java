package io.pgbus.listener;

import java.util.List;

import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore;
import io.pgbus.store.FailureStore.Due;
import io.pgbus.store.Holder;
import io.pgbus.store.Ledger;
import io.pgbus.store.StoredEvent;

import org.springframework.dao.DuplicateKeyException;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * The handler runs in a Spring transaction, and that its events are done is recorded in
 * the same transaction, ahead of it.
 * <p>
 * A commit that fails for what the handler did, a deferred constraint for one, is a
 * failure of the handler. Whether a commit whose answer was lost has succeeded is never
 * guessed: that is an outage, after which the worker drops its claim and the next reads
 * the ledger; and no failure is recorded of an event that the ledger has. What fails
 * before the handler is no failure of the event either.
 */
final class ExactlyOnceDelivery implements Delivery {

	private final HandlerInvoker handler;

	private final Ledger ledger;

	private final FailureStore failures;

	private final HandlerTransaction transaction;

	ExactlyOnceDelivery(HandlerInvoker handler, Ledger ledger, FailureStore failures,
			PlatformTransactionManager transactionManager, int isolation) {
		this.handler = handler;
		this.ledger = ledger;
		this.failures = failures;
		this.transaction = new HandlerTransaction(transactionManager, isolation);
	}

	@Override
	public void deliver(Claim claim, Holder holder, List<StoredEvent> events) {
		this.transaction.run(events.size(), () -> enter(claim, holder, events),
				() -> this.handler.invoke(claim, events, 1), () -> false);
	}

	@Override
	public void deliverAgain(Claim claim, Holder holder, Due due) {
		this.transaction.run(1, () -> {
			if (!this.failures.resolveInTransaction(claim, holder, due)) {
				throw new LostCursorException("Failed event " + due.event().id() + " is another's by now");
			}
		}, () -> this.handler.invoke(claim, List.of(due.event()), due.attempts() + 1), () -> false);
	}

	@Override
	public boolean usesLedger() {
		return true;
	}

	private void enter(Claim claim, Holder holder, List<StoredEvent> events) {
		try {
			if (!this.ledger.enter(claim, holder, events.stream().map(StoredEvent::id).toList())) {
				throw new LostCursorException("It was taken over");
			}
		}
		catch (DuplicateKeyException ex) {
			throw new LostCursorException("One of the events " + events.get(0).id() + " to "
					+ events.get(events.size() - 1).id() + " is done already");
		}
	}

}
