package io.pgbus.listener;

import java.util.List;
import java.util.Set;

import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore.Due;
import io.pgbus.store.Holder;
import io.pgbus.store.StoredEvent;

/**
 * How the handler and the record of what it has done go together.
 */
interface Delivery {

	/**
	 * Comes before the first event of a claim.
	 * @return those of its events that are known to be done elsewhere than in the claim's
	 * database
	 * @throws LostCursorException if the cursor is another's
	 */
	default Set<Long> takeUp(Claim claim) {
		return Set.of();
	}

	/**
	 * Handles events for the first time.
	 * @throws HandlerFailure if the handler fails, and its effects are undone if they can
	 * be
	 * @throws LostCursorException if the cursor is another's, or an event is done already
	 */
	void deliver(Claim claim, Holder holder, List<StoredEvent> events);

	/**
	 * Handles a failed event again, and removes it from the failed ones.
	 * @throws HandlerFailure if the handler fails, and its effects are undone if they can
	 * be
	 * @throws LostCursorException if the cursor is another's
	 */
	void deliverAgain(Claim claim, Holder holder, Due due);

	/** Whether delivered events have ledger rows. */
	boolean usesLedger();

}
