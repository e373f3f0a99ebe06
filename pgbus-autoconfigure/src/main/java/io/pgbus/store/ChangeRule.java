package io.pgbus.store;

import java.util.Collection;

import io.pgbus.TableOperation;
import org.jspecify.annotations.Nullable;

/**
 * Which groups want a change, and why.
 */
final class ChangeRule {

	/** The row is among those that the group wants. */
	static final String IN = "in";

	/** It was, and is no more. */
	static final String LEAVES = "leaves";

	private ChangeRule() {
	}

	/**
	 * Tells whether a group may want a change, before its filter is asked.
	 * @param subscription what it wants
	 * @param change the change
	 * @return whether it may
	 */
	static boolean isCandidate(TableSubscription subscription, RowChange change) {
		if (Long.compareUnsigned(change.position().commit(), subscription.since()) < 0) {
			return false;
		}
		// an update that changes the key is a delete and an insert as well
		return (change.operation() == TableOperation.UPDATE)
				? subscription.operations().stream().anyMatch(ChangeRule::isOfRow)
				: subscription.operations().contains(change.operation());
	}

	private static boolean isOfRow(TableOperation operation) {
		return switch (operation) {
			case INSERT, UPDATE, DELETE -> true;
			case TRUNCATE, READ, GAP -> false;
		};
	}

	/**
	 * Decides for a row that is there after the change.
	 * @return the outcome, or {@code null} if the group does not want it
	 */
	static @Nullable String ofNewRow(TableSubscription subscription, CapturedChange change, RowImage record) {
		boolean isUpdate = change.change().operation() == TableOperation.UPDATE;
		boolean isMove = change.isKeyChange();
		boolean asInsert = (!isUpdate || isMove) && subscription.operations().contains(TableOperation.INSERT);
		boolean asUpdate = isUpdate && subscription.operations().contains(TableOperation.UPDATE)
				&& touches(subscription, change);
		if (!asInsert && !asUpdate) {
			return null;
		}
		String outcome = outcome(record.answer(subscription.filter()), IN);
		RowImage previous = change.previous();
		// of a move the group has the other part, if it wants deletes
		boolean isTold = isMove && subscription.operations().contains(TableOperation.DELETE);
		if (outcome == null && asUpdate && !isTold && previous != null && change.knowsOldRow()) {
			outcome = outcome(previous.answer(subscription.filter()), LEAVES);
		}
		return outcome;
	}

	/**
	 * Decides for a row that is not there any more. Without the old row the filter cannot
	 * tell, and the group had better hear of it.
	 * @return the outcome, or {@code null} if the group does not want it
	 */
	static @Nullable String ofOldRow(TableSubscription subscription, CapturedChange change, RowImage previous) {
		if (!subscription.operations().contains(TableOperation.DELETE)) {
			return null;
		}
		return change.knowsOldRow() ? outcome(previous.answer(subscription.filter()), IN) : IN;
	}

	/** Where it is not known what an update has changed, it may have changed anything. */
	private static boolean touches(TableSubscription subscription, CapturedChange change) {
		Collection<Integer> changed = change.changed();
		return subscription.columns().isEmpty() || changed == null
				|| ChangePayload.names(change.table().relation(), changed)
					.stream()
					.anyMatch(subscription.columns()::contains);
	}

	private static @Nullable String outcome(RowImage.Answer answer, String match) {
		if (answer.error() != null) {
			return "error: " + answer.error();
		}
		return answer.matches() ? match : null;
	}

}
