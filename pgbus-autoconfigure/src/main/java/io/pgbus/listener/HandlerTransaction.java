package io.pgbus.listener;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;

import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * The transaction that a handler runs in, together with the record of what it does, which
 * comes first. What fails before the handler is no failure of the event.
 */
final class HandlerTransaction {

	private final TransactionTemplate transaction;

	/**
	 * Creates the transaction.
	 * @param transactionManager the transaction manager
	 * @param isolation what makes it READ COMMITTED: the record's look needs a snapshot
	 * of its own
	 */
	HandlerTransaction(PlatformTransactionManager transactionManager, int isolation) {
		this.transaction = new TransactionTemplate(transactionManager);
		this.transaction.setIsolationLevel(isolation);
	}

	/**
	 * Runs both.
	 * @param events how many events they are about
	 * @param record makes the record
	 * @param handle runs the handler
	 * @param isDone asked after a commit that failed, whether it succeeded for all that
	 * @throws HandlerFailure if the handler or the commit fails
	 */
	void run(int events, Runnable record, Runnable handle, BooleanSupplier isDone) {
		AtomicBoolean isRecorded = new AtomicBoolean();
		try {
			this.transaction.executeWithoutResult((status) -> {
				record.run();
				isRecorded.set(true);
				handle.run();
			});
		}
		catch (HandlerFailure | LostCursorException ex) {
			throw ex;
		}
		catch (RuntimeException | Error ex) {
			if (!isRecorded.get()) {
				throw ex;
			}
			if (!isDone.getAsBoolean()) {
				throw new HandlerFailure(ex, events);
			}
		}
	}

}
