package io.pgbus.store;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;

import io.pgbus.TableOperation;
import io.pgbus.store.RowChange.Row;
import org.jspecify.annotations.Nullable;

/**
 * A change of a row on its way from the stream of changes to the log.
 */
final class CapturedChange {

	private final RowChange change;

	private final TypedRelation table;

	private final @Nullable RowImage record;

	private final @Nullable RowImage previous;

	/** Columns whose values were read from the table. */
	private final Set<Integer> refetched = new HashSet<>();

	CapturedChange(RowChange change, TypedRelation table) {
		this.change = change;
		this.table = table;
		this.record = (change.record() != null) ? newRow(change.record(), change.previous()) : null;
		this.previous = (change.previous() != null) ? oldRow(change.previous()) : null;
	}

	/** What the update did not touch is what the old row has, if that is there. */
	private RowImage newRow(Row record, @Nullable Row previous) {
		RowImage image = new RowImage(record.values(), record.unchanged());
		for (int column : record.unchanged()) {
			String value = (previous != null && !previous.isUnchanged(column)) ? previous.values().get(column) : null;
			if (value != null) {
				image.found(column, value);
			}
		}
		return image;
	}

	private RowImage oldRow(Row previous) {
		Set<Integer> missing = new HashSet<>(previous.unchanged());
		IntStream.range(0, previous.values().size())
			.filter((column) -> !this.table.relation().wholeRows()
					&& !this.table.relation().columns().get(column).inIdentity())
			.forEach(missing::add);
		return new RowImage(previous.values(), missing);
	}

	RowChange change() {
		return this.change;
	}

	TypedRelation table() {
		return this.table;
	}

	@Nullable RowImage record() {
		return this.record;
	}

	@Nullable RowImage previous() {
		return this.previous;
	}

	Set<Integer> refetched() {
		return this.refetched;
	}

	/** Whether all of the old row is there, so that filters can be asked about it. */
	boolean knowsOldRow() {
		return this.previous != null && this.table.relation().wholeRows();
	}

	boolean isKeyChange() {
		RowImage before = this.previous;
		RowImage after = this.record;
		return this.change.operation() == TableOperation.UPDATE && before != null && after != null
				&& this.table.key()
					.stream()
					.anyMatch((column) -> !Objects.equals(before.value(column), after.value(column)));
	}

	/**
	 * Returns the columns that an update has changed.
	 * @return their indexes, or {@code null} if the old row is not known
	 */
	@Nullable Collection<Integer> changed() {
		RowImage before = this.previous;
		RowImage after = this.record;
		if (before == null || after == null || !knowsOldRow()) {
			return null;
		}
		List<Integer> changed = new ArrayList<>();
		for (int column = 0; column < this.table.types().size(); column++) {
			if (!Objects.equals(before.value(column), after.value(column))) {
				changed.add(column);
			}
		}
		return changed;
	}

}
