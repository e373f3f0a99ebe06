package io.pgbus.listener;

import java.util.List;
import java.util.Set;

import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore;
import io.pgbus.store.FailureStore.Due;
import io.pgbus.store.Holder;
import io.pgbus.store.Inbox;
import io.pgbus.store.StoredEvent;

import org.springframework.dao.DuplicateKeyException;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * The handler runs in a Spring transaction of another database than the bus's, and that
 * its events are done is recorded there, in the same transaction, ahead of it.
 * <p>
 * The bus is told afterwards. Whatever comes in between, it gives the events once more,
 * and the inbox knows them.
 */
final class InboxDelivery implements Delivery {

	private final HandlerInvoker handler;

	private final Inbox inbox;

	private final FailureStore failures;

	private final HandlerTransaction transaction;

	InboxDelivery(HandlerInvoker handler, Inbox inbox, FailureStore failures,
			PlatformTransactionManager transactionManager, int isolation) {
		this.handler = handler;
		this.inbox = inbox;
		this.failures = failures;
		this.transaction = new HandlerTransaction(transactionManager, isolation);
	}

	@Override
	public Set<Long> takeUp(Claim claim) {
		Set<Long> done = this.inbox.takeUp(claim);
		if (done == null) {
			throw new LostCursorException("It was taken over");
		}
		return done;
	}

	@Override
	public void deliver(Claim claim, Holder holder, List<StoredEvent> events) {
		List<Long> ids = events.stream().map(StoredEvent::id).toList();
		try {
			this.transaction.run(events.size(), () -> {
				if (!this.inbox.enter(claim, holder, ids)) {
					throw new LostCursorException("It was taken over");
				}
			}, () -> this.handler.invoke(claim, events, 1), () -> this.inbox.isDone(claim, ids.get(0)));
		}
		catch (DuplicateKeyException ex) {
			throw new LostCursorException(
					"One of the events " + ids.get(0) + " to " + ids.get(ids.size() - 1) + " is done already");
		}
	}

	/**
	 * The failure is removed after the handler's transaction. Who finds it meanwhile
	 * finds the entry as well.
	 */
	@Override
	public void deliverAgain(Claim claim, Holder holder, Due due) {
		try {
			this.transaction.run(1, () -> {
				if (!this.inbox.enter(claim, holder, due)) {
					throw new LostCursorException("Failed event " + due.event().id() + " is another's by now");
				}
			}, () -> this.handler.invoke(claim, List.of(due.event()), due.attempts() + 1), () -> false);
		}
		catch (DuplicateKeyException ex) {
			// done, but the bus was not told
		}
		if (!this.failures.resolve(claim, due)) {
			throw new LostCursorException("It was taken over while failed event " + due.event().id() + " was tried");
		}
		this.inbox.forget(claim, due);
	}

	@Override
	public boolean usesLedger() {
		return false;
	}

}
