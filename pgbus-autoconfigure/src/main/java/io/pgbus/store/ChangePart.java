package io.pgbus.store;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import io.pgbus.TableOperation;
import org.jspecify.annotations.Nullable;
import org.postgresql.replication.LogSequenceNumber;

/**
 * What becomes one event of a change: all of it, or one of the two parts of a row that
 * moves to another key.
 *
 * @param operation what the event says has happened
 * @param record the new row, or {@code null}
 * @param previous the old row, or {@code null}
 * @param moved the row under its other key, or {@code null} if it does not move
 * @param outcomes why which group wants it, by the id of the group
 */
record ChangePart(TableOperation operation, @Nullable RowImage record, @Nullable RowImage previous,
		@Nullable RowImage moved, Map<Integer, String> outcomes) {

	/**
	 * Returns the parts of a change that a group wants.
	 * @param change the change, whose rows the filters were asked about
	 * @param subscriptions who may want it
	 * @return the parts, in order
	 */
	static List<ChangePart> of(CapturedChange change, List<TableSubscription> subscriptions) {
		RowImage record = change.record();
		RowImage previous = change.previous();
		TableOperation operation = change.change().operation();
		boolean isMove = change.isKeyChange();
		List<ChangePart> parts = new ArrayList<>();
		if (previous != null && (operation == TableOperation.DELETE || isMove)) {
			parts.add(new ChangePart(TableOperation.DELETE, null, previous, isMove ? record : null, outcomes(change,
					subscriptions, (subscription) -> ChangeRule.ofOldRow(subscription, change, previous))));
		}
		if (record != null) {
			parts.add(new ChangePart(isMove ? TableOperation.INSERT : operation, record, isMove ? null : previous,
					isMove ? previous : null, outcomes(change, subscriptions,
							(subscription) -> ChangeRule.ofNewRow(subscription, change, record))));
		}
		if (operation == TableOperation.TRUNCATE) {
			parts.add(new ChangePart(operation, null, null, null,
					outcomes(change, subscriptions, (subscription) -> ChangeRule.IN)));
		}
		parts.removeIf((part) -> part.outcomes().isEmpty());
		return parts;
	}

	private static Map<Integer, String> outcomes(CapturedChange change, List<TableSubscription> subscriptions,
			Rule rule) {
		Map<Integer, String> outcomes = new LinkedHashMap<>();
		for (TableSubscription subscription : subscriptions) {
			String outcome = ChangeRule.isCandidate(subscription, change.change()) ? rule.outcome(subscription) : null;
			if (outcome != null) {
				outcomes.put(subscription.groupId(), outcome);
			}
		}
		return outcomes;
	}

	String type() {
		return this.operation.name().toLowerCase(Locale.ROOT);
	}

	String key(TypedRelation table) {
		RowImage row = row();
		return (row != null) ? ChangePayload.eventKey(table, row) : ChangePayload.NO_KEY;
	}

	private @Nullable RowImage row() {
		return (this.record != null) ? this.record : this.previous;
	}

	/**
	 * Returns the payload.
	 * @param change the change
	 * @param origin where the change comes from, but for its place in the transaction
	 * @return the payload as JSON
	 */
	String payload(CapturedChange change, String origin) {
		TypedRelation table = change.table();
		Relation relation = table.relation();
		ChangePayload payload = new ChangePayload().text("table",
				PublishedTable.qualifiedName(relation.schema(), relation.name()));
		payload.raw("key", ChangePayload.keyObject(table, row()));
		if (this.record != null) {
			payload.raw("record", this.record.json());
		}
		if (this.previous != null) {
			payload.raw("previous", this.previous.json());
		}
		Collection<Integer> changed = (this.operation == TableOperation.UPDATE) ? change.changed() : null;
		if (changed != null) {
			payload.raw("changed", ChangePayload.list(ChangePayload.names(relation, changed)));
		}
		payload.names("unavailable", ChangePayload.names(relation, unavailable(change)));
		if (this.record != null) {
			payload.names("refetched", ChangePayload.names(relation, change.refetched()));
		}
		if (this.moved != null) {
			payload.raw((this.record != null) ? "movedFrom" : "movedTo", ChangePayload.keyObject(table, this.moved));
		}
		return payload.members(origin).raw("ordinal", Long.toString(change.change().position().ordinal())).toString();
	}

	/**
	 * Returns what the payloads of all changes of a transaction have alike.
	 * @param change one of the changes
	 * @param transaction the xid with 64 bits
	 * @return members of a JSON object
	 */
	static String origin(RowChange change, String transaction) {
		return new ChangePayload().text("committedAt", change.committedAt().toString())
			.text("xid", transaction)
			.text("lsn", LogSequenceNumber.valueOf(change.position().commit()).asString())
			.members();
	}

	/**
	 * That an old row which is not whole has no more than its key goes without saying.
	 */
	private Set<Integer> unavailable(CapturedChange change) {
		Set<Integer> unavailable = new TreeSet<>();
		if (this.record != null) {
			unavailable.addAll(this.record.missing());
		}
		if (this.previous != null && change.knowsOldRow()) {
			unavailable.addAll(this.previous.missing());
		}
		return unavailable;
	}

	private interface Rule {

		@Nullable String outcome(TableSubscription subscription);

	}

}
