package io.pgbus.listener;

import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore;
import io.pgbus.store.FailureStore.Due;
import io.pgbus.store.Holder;
import io.pgbus.store.Inbox;
import io.pgbus.store.StoredEvent;

import org.springframework.dao.DuplicateKeyException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

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

	private final TransactionTemplate transaction;

	InboxDelivery(HandlerInvoker handler, Inbox inbox, FailureStore failures,
			PlatformTransactionManager transactionManager, int isolation) {
		this.handler = handler;
		this.inbox = inbox;
		this.failures = failures;
		this.transaction = new TransactionTemplate(transactionManager);
		// the inbox's look needs a snapshot of its own
		this.transaction.setIsolationLevel(isolation);
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
			inTransaction(events.size(), () -> {
				if (!this.inbox.enter(claim, holder, ids)) {
					throw new LostCursorException("It was taken over");
				}
			}, () -> this.handler.invoke(claim, events, 1));
		}
		catch (DuplicateKeyException ex) {
			throw new LostCursorException(
					"One of the events " + ids.get(0) + " to " + ids.get(ids.size() - 1) + " is done already");
		}
		catch (CommitFailure ex) {
			// a commit whose answer was lost may have succeeded
			if (!this.inbox.isDone(claim, ids.get(0))) {
				throw ex.failure();
			}
		}
	}

	/**
	 * The failure is removed after the handler's transaction. Who finds it meanwhile
	 * finds the entry as well.
	 */
	@Override
	public void deliverAgain(Claim claim, Holder holder, Due due) {
		try {
			inTransaction(1, () -> {
				if (!this.inbox.enter(claim, holder, due)) {
					throw new LostCursorException("Failed event " + due.event().id() + " is another's by now");
				}
			}, () -> this.handler.invoke(claim, List.of(due.event()), due.attempts() + 1));
		}
		catch (DuplicateKeyException ex) {
			// done, but the bus was not told
		}
		catch (CommitFailure ex) {
			throw ex.failure();
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

	/**
	 * Runs both in a transaction. A {@link DuplicateKeyException} that gets out is of the
	 * entry.
	 */
	private void inTransaction(int events, Runnable enter, Runnable handle) {
		AtomicBoolean isEntered = new AtomicBoolean();
		try {
			this.transaction.executeWithoutResult((status) -> {
				enter.run();
				isEntered.set(true);
				handle.run();
			});
		}
		catch (HandlerFailure | LostCursorException ex) {
			throw ex;
		}
		catch (RuntimeException | Error ex) {
			if (!isEntered.get()) {
				throw ex;
			}
			throw new CommitFailure(new HandlerFailure(ex, events));
		}
	}

	/**
	 * The handler has succeeded, and its transaction could not be committed, or may be.
	 */
	@SuppressWarnings("serial") // it never leaves this class
	private static final class CommitFailure extends RuntimeException {

		private final HandlerFailure failure;

		CommitFailure(HandlerFailure failure) {
			super(failure);
			this.failure = failure;
		}

		HandlerFailure failure() {
			return this.failure;
		}

	}

}
