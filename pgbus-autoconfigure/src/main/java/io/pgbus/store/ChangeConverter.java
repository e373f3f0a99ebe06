package io.pgbus.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

/**
 * Makes events of those changes that groups want.
 */
final class ChangeConverter {

	private static final long XIDS = 1L << 32;

	private final RelationCatalog catalog;

	private final RowConverter rows;

	private final LargeValues largeValues;

	/**
	 * Creates the converter.
	 * @param database the database
	 * @param filterTimeout the time that one statement with filters may take
	 */
	ChangeConverter(BusDatabase database, Duration filterTimeout) {
		this.catalog = new RelationCatalog(database);
		this.rows = new RowConverter(database, filterTimeout, this.catalog);
		this.largeValues = new LargeValues(database, RowSql.settings(Math.max(1, filterTimeout.toMillis())));
	}

	/**
	 * Converts changes. They are worked on table by table, since a statement is for one
	 * table, and put into their order again.
	 * @param changes the changes, in the order of the stream
	 * @param to how far the batch goes
	 * @param subscriptions who wants what
	 * @param nextTransaction the xid, with 64 bits, that is the next, or was not long ago
	 * @return the events, in the order of the changes
	 */
	List<ChangeEvent> convert(List<RowChange> changes, CapturePosition to, Collection<TableSubscription> subscriptions,
			long nextTransaction) {
		if (subscriptions.isEmpty()) {
			return List.of();
		}
		Map<String, List<TableSubscription>> byTable = subscriptions.stream()
			.collect(Collectors.groupingBy(TableSubscription::qualifiedName));
		IdentityHashMap<Relation, Batch> batches = new IdentityHashMap<>();
		List<Batch> inOrder = new ArrayList<>();
		for (int i = 0; i < changes.size(); i++) {
			Relation relation = changes.get(i).relation();
			Batch batch = batches.get(relation);
			if (batch == null) {
				batch = new Batch(relation, byTable
					.getOrDefault(PublishedTable.qualifiedName(relation.schema(), relation.name()), List.of()));
				batches.put(relation, batch);
				inOrder.add(batch);
			}
			batch.add(i, changes.get(i));
		}
		inOrder.removeIf((batch) -> !batch.isWanted);
		this.catalog.describe(inOrder.stream().map((batch) -> batch.relation).toList());
		Map<Integer, List<ChangeEvent>> events = new HashMap<>();
		inOrder.forEach((batch) -> convert(batch, to, nextTransaction, events));
		List<ChangeEvent> ordered = new ArrayList<>();
		for (int i = 0; i < changes.size(); i++) {
			ordered.addAll(events.getOrDefault(i, List.of()));
		}
		return ordered;
	}

	private void convert(Batch batch, CapturePosition to, long nextTransaction,
			Map<Integer, List<ChangeEvent>> events) {
		TypedRelation table = this.catalog.get(batch.relation);
		List<CapturedChange> changes = batch.changes.stream()
			.map((change) -> new CapturedChange(change, table))
			.toList();
		if (!batch.relation.wholeRows() && changes.stream().anyMatch(ChangeConverter::lacksValues)) {
			this.largeValues.find(table, changes, to);
		}
		ask(batch, table, changes);
		List<List<ChangePart>> parts = changes.stream()
			.map((change) -> ChangePart.of(change, batch.subscriptions))
			.toList();
		makeMissingJson(table, parts);
		TableSubscription any = batch.subscriptions.get(0);
		RowChange last = null;
		String origin = "";
		for (int i = 0; i < changes.size(); i++) {
			CapturedChange change = changes.get(i);
			if (last == null || last.position().commit() != change.change().position().commit()) {
				last = change.change();
				origin = ChangePart.origin(last, transaction(last.transactionId(), nextTransaction));
			}
			String ofTransaction = origin;
			events.put(batch.numbers.get(i),
					parts.get(i)
						.stream()
						.map((part) -> new ChangeEvent(
								new ChangeEvent.Kind(any.streamId(), any.partitions(), part.type(),
										ChangePayload.headers(part.outcomes())),
								part.key(change.table()), part.payload(change, ofTransaction)))
						.toList());
		}
	}

	/** The xid with 64 bits that ends in these 32 and is nearest to another. */
	static String transaction(int id, long next) {
		long distance = Math.floorMod(next - Integer.toUnsignedLong(id) + XIDS / 2, XIDS) - XIDS / 2;
		return Long.toString(next - distance);
	}

	private static boolean lacksValues(CapturedChange change) {
		RowImage record = change.record();
		return record != null && !record.missing().isEmpty();
	}

	/** Old rows are asked only if they are whole. */
	private void ask(Batch batch, TypedRelation table, List<CapturedChange> changes) {
		List<String> filters = batch.subscriptions.stream()
			.map(TableSubscription::filter)
			.filter(Objects::nonNull)
			.distinct()
			.toList();
		boolean always = batch.subscriptions.stream().anyMatch((subscription) -> subscription.filter() == null);
		List<RowImage> images = new ArrayList<>();
		for (CapturedChange change : changes) {
			if (batch.isCandidate(change.change())) {
				addIfThere(images, change.record());
				addIfThere(images, change.knowsOldRow() ? change.previous() : null);
			}
		}
		this.rows.convert(table, images, filters, always);
	}

	/**
	 * What a group wants though its filter does not match: a row that leaves, for one.
	 */
	private void makeMissingJson(TypedRelation table, List<List<ChangePart>> parts) {
		List<RowImage> images = new ArrayList<>();
		parts.forEach((ofChange) -> ofChange.forEach((part) -> {
			addIfThere(images, part.record());
			addIfThere(images, part.previous());
			addIfThere(images, part.moved());
		}));
		List<RowImage> lacking = images.stream().filter((image) -> image.json() == null).distinct().toList();
		if (!lacking.isEmpty()) {
			this.rows.convert(table, lacking, List.of(), true);
		}
	}

	private static void addIfThere(List<RowImage> images, @Nullable RowImage image) {
		if (image != null) {
			images.add(image);
		}
	}

	/** The changes of one relation. */
	private static final class Batch {

		private final Relation relation;

		private final List<TableSubscription> subscriptions;

		private final List<Integer> numbers = new ArrayList<>();

		private final List<RowChange> changes = new ArrayList<>();

		private boolean isWanted;

		Batch(Relation relation, List<TableSubscription> subscriptions) {
			this.relation = relation;
			this.subscriptions = subscriptions;
		}

		void add(int number, RowChange change) {
			if (!this.subscriptions.isEmpty()) {
				this.numbers.add(number);
				this.changes.add(change);
				this.isWanted |= isCandidate(change);
			}
		}

		boolean isCandidate(RowChange change) {
			return this.subscriptions.stream().anyMatch((subscription) -> ChangeRule.isCandidate(subscription, change));
		}

	}

}
