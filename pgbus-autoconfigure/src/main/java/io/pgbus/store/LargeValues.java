package io.pgbus.store;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;

/**
 * Reads large values from the table that an update did not touch, so that the stream of
 * changes does not have them.
 * <p>
 * <b>Invariant.</b> A value is taken from a row only if the row still is as the change's
 * transaction left it, which its xmin tells, and if no later change of that transaction
 * can have set the value: so it is what the row had at the change. A subtransaction has
 * an xid of its own; what it wrote is not found.
 */
final class LargeValues {

	private static final Logger logger = LoggerFactory.getLogger(LargeValues.class);

	/** Each row is looked up by its key. */
	private static final String SETTINGS = """
			, set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
			set_config('enable_mergejoin', 'off', true)""";

	/**
	 * The text comes from the type's output function, as in the stream. A column of that
	 * name with another type is another column.
	 */
	private static final String READ = """
			select n."#i", format('%%s', t.%1$s) as value
			from unnest(?::integer[], ?::text[]%2$s) as n("#i", "#x"%3$s)
			join %4$s as t on %5$s
			where t.xmin = n."#x"::xid and t.%1$s is not null
			and exists (
				select from pg_catalog.pg_attribute a
				where a.attrelid = ?::text::oid and a.attname = ? and a.atttypid = ?::text::oid
			)
			""";

	private final BusDatabase database;

	private final String settings;

	private final Set<String> logged = new HashSet<>();

	LargeValues(BusDatabase database, String settings) {
		this.database = database;
		this.settings = settings + SETTINGS;
	}

	/**
	 * Fills in what can be read.
	 * @param table the table
	 * @param changes all changes of the table in the batch, in their order
	 * @param to how far the batch goes
	 */
	void find(TypedRelation table, List<CapturedChange> changes, CapturePosition to) {
		Map<Integer, List<CapturedChange>> byColumn = new HashMap<>();
		Map<RowName, Set<Integer>> setLater = new HashMap<>();
		Set<Integer> all = IntStream.range(0, table.types().size()).boxed().collect(Collectors.toSet());
		for (int i = changes.size() - 1; i >= 0; i--) {
			CapturedChange change = changes.get(i);
			RowImage record = change.record();
			if (record == null || change.isKeyChange()) {
				RowImage previous = change.previous();
				if (previous == null || table.key().isEmpty()) {
					// the whole table, or rows that cannot be told apart
					setLater.put(new RowName(change.change().position().commit(), List.of()), all);
					continue;
				}
				setLater.put(RowName.of(change, previous), all);
			}
			if (record == null) {
				continue;
			}
			Set<Integer> missing = Set.copyOf(record.missing());
			RowName name = RowName.of(change, record);
			Set<Integer> set = setLater.computeIfAbsent(name, (key) -> new HashSet<>());
			boolean isEmptied = setLater.containsKey(new RowName(name.commit(), List.of()));
			if (isComplete(change, to) && !isEmptied && !table.key().isEmpty()) {
				missing.stream()
					.filter((column) -> !set.contains(column))
					.forEach((column) -> byColumn.computeIfAbsent(column, (key) -> new ArrayList<>()).add(change));
			}
			Set<Integer> known = new HashSet<>(set);
			all.stream().filter((column) -> change.isKeyChange() || !missing.contains(column)).forEach(known::add);
			setLater.put(name, known);
		}
		byColumn.forEach((column, wanting) -> read(table, column, wanting));
	}

	/** What a transaction does behind the end of the batch is not known. */
	private static boolean isComplete(CapturedChange change, CapturePosition to) {
		return change.change().position().commit() != to.commit() || to.ordinal() == CapturePosition.WHOLE;
	}

	private void read(TypedRelation table, int column, List<CapturedChange> changes) {
		Relation relation = table.relation();
		List<Object> values = new ArrayList<>();
		values.add(IntStream.range(0, changes.size()).boxed().toArray(Integer[]::new));
		values.add(changes.stream()
			.map((change) -> Integer.toUnsignedString(change.change().transactionId()))
			.toArray(String[]::new));
		for (int key : table.key()) {
			@Nullable String[] array = new String[changes.size()];
			for (int i = 0; i < array.length; i++) {
				RowImage record = changes.get(i).record();
				array[i] = (record != null) ? record.value(key) : null;
			}
			values.add(array);
		}
		values.add(Integer.toUnsignedString(relation.id()));
		values.add(relation.columns().get(column).name());
		values.add(Integer.toUnsignedString(relation.columns().get(column).typeId()));
		try {
			Map<Integer, String> found = this.database.ownReadOnlyRoundTrip(this.settings, sql(table, column))
				.run(values, (row) -> {
					Map<Integer, String> byNumber = new LinkedHashMap<>();
					while (row.next()) {
						byNumber.put(row.getInt("#i"), row.getString("value"));
					}
					return byNumber;
				});
			found.forEach((number, value) -> {
				RowImage record = changes.get(number).record();
				if (record != null) {
					record.found(column, value);
					changes.get(number).refetched().add(column);
				}
			});
		}
		catch (DataAccessException ex) {
			if (DatabaseTrouble.of(ex) != DatabaseTrouble.NONE) {
				throw ex;
			}
			String name = relation.columns().get(column).name();
			if (this.logged.add(relation.id() + ' ' + name)) {
				logger
					.warn("Large values of the column {} of {}.{} that an update did not touch cannot be read from the table, so listeners get them as unavailable. "
							+ "Grant select on the table, or set its replica identity to full (this is logged once per column): {}",
							name, relation.schema(), relation.name(), ex.getMostSpecificCause().getMessage());
			}
		}
	}

	private static String sql(TypedRelation table, int column) {
		Relation relation = table.relation();
		List<Integer> key = table.key();
		String names = key.stream().map((part) -> ", \"#" + part + '"').collect(Collectors.joining());
		String condition = key.stream()
			.map((part) -> "t." + RowSql.quote(relation.columns().get(part).name()) + " = n.\"#" + part + "\"::"
					+ table.types().get(part).declared())
			.collect(Collectors.joining(" and "));
		return READ.formatted(RowSql.quote(relation.columns().get(column).name()), ", ?::text[]".repeat(key.size()),
				names, RowSql.quote(relation.schema()) + '.' + RowSql.quote(relation.name()), condition);
	}

	/**
	 * A row in a transaction.
	 *
	 * @param commit the transaction
	 * @param key the text of the values of the key; empty for the whole table
	 */
	private record RowName(long commit, List<String> key) {

		static RowName of(CapturedChange change, RowImage image) {
			return new RowName(change.change().position().commit(),
					change.table().key().stream().map((column) -> String.valueOf(image.value(column))).toList());
		}

	}

}
