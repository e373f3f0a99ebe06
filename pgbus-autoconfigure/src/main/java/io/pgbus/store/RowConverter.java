package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;

/**
 * Lets the database make JSON of the text of rows, and ask filters about them, many rows
 * by a statement. If a statement fails, what is wrong is found by halving: a value that
 * cannot be converted goes missing, and a filter that fails on a row gives its error as
 * the answer. No other row, and no other filter, is touched by that.
 */
final class RowConverter {

	private static final Logger logger = LoggerFactory.getLogger(RowConverter.class);

	private static final int ROWS_PER_STATEMENT = 2000;

	private static final String TIMED_OUT = "57014";

	private static final int MAX_ERROR_LENGTH = 500;

	private static final int MAX_REMEMBERED = 1000;

	private final BusDatabase database;

	private final RelationCatalog catalog;

	private final String settings;

	private final Set<String> logged = new HashSet<>();

	/**
	 * Creates the converter.
	 * @param database the database
	 * @param timeout the time that a statement may take
	 * @param catalog knows the types of relations
	 */
	RowConverter(BusDatabase database, Duration timeout, RelationCatalog catalog) {
		this.database = database;
		this.catalog = catalog;
		this.settings = RowSql.settings(Math.max(1, timeout.toMillis()));
	}

	/**
	 * Lets PostgreSQL say whether a filter fits a relation.
	 * @param table the relation
	 * @param filter the filter
	 */
	void check(TypedRelation table, String filter) {
		RowSql sql = new RowSql(table, Set.of());
		run(sql.matches(List.of(filter)), sql.columns(), List.of(), (row) -> {
		});
	}

	/**
	 * Asks filters about rows, and makes the JSON of those that match one. The images
	 * take the results.
	 * @param table the relation
	 * @param images the rows
	 * @param filters the filters
	 * @param always whether JSON is made of every row
	 */
	void convert(TypedRelation table, List<RowImage> images, List<String> filters, boolean always) {
		Map<Set<Integer>, List<RowImage>> byMissing = new LinkedHashMap<>();
		images.forEach((image) -> byMissing.computeIfAbsent(Set.copyOf(image.missing()), (key) -> new ArrayList<>())
			.add(image));
		byMissing.forEach((missing, alike) -> {
			for (int from = 0; from < alike.size(); from += ROWS_PER_STATEMENT) {
				List<RowImage> part = alike.subList(from, Math.min(alike.size(), from + ROWS_PER_STATEMENT));
				if (!tryAll(table, missing, part, filters, always)) {
					TypedRelation today = this.catalog.again(table.relation());
					if (today.equals(table) || !tryAll(today, missing, part, filters, always)) {
						oneByOne(today, missing, part, filters);
					}
				}
			}
		});
	}

	private boolean tryAll(TypedRelation table, Set<Integer> missing, List<RowImage> images, List<String> filters,
			boolean always) {
		RowSql sql = new RowSql(table, missing);
		List<Integer> key = table.key().stream().filter((column) -> !missing.contains(column)).toList();
		return failureOf(() -> run(sql.rows(filters, always), sql.columns(), images, (row) -> {
			int next = 1;
			RowImage image = images.get(row.getInt(next++));
			image.json(row.getString(next++));
			for (int column : key) {
				image.keyPart(column, row.getString(next++));
			}
			for (String filter : filters) {
				image.answer(filter, row.getBoolean(next++) ? RowImage.Answer.YES : RowImage.Answer.NO);
			}
		})) == null;
	}

	private void oneByOne(TypedRelation table, Set<Integer> missing, List<RowImage> images, List<String> filters) {
		makeJson(table, missing, images);
		for (String filter : filters) {
			Map<Set<Integer>, List<RowImage>> byMissing = new LinkedHashMap<>();
			images.forEach((image) -> byMissing.computeIfAbsent(Set.copyOf(image.missing()), (key) -> new ArrayList<>())
				.add(image));
			Asked asked = new Asked(table, filter);
			byMissing.forEach((without, alike) -> ask(asked, without, alike));
		}
	}

	private void makeJson(TypedRelation table, Set<Integer> missing, List<RowImage> images) {
		if (tryAll(table, missing, images, List.of(), true)) {
			return;
		}
		if (images.size() > 1) {
			int half = images.size() / 2;
			makeJson(table, missing, images.subList(0, half));
			makeJson(table, missing, images.subList(half, images.size()));
			return;
		}
		RowImage image = images.get(0);
		RowSql sql = new RowSql(table, missing);
		for (int column : sql.columns()) {
			DataAccessException failure = failureOf(
					() -> run(sql.column(column), List.of(column), List.of(image), (row) -> {
					}));
			if (failure != null) {
				miss(table, image, column, reasonOf(failure));
			}
		}
		// each value can be had, but not all of them together
		while (!tryAll(table, Set.copyOf(image.missing()), images, List.of(), true) && image.largest() >= 0) {
			miss(table, image, image.largest(), "the row is too large for JSON");
		}
	}

	private void miss(TypedRelation table, RowImage image, int column, String reason) {
		image.miss(column);
		Relation relation = table.relation();
		String name = relation.columns().get(column).name();
		once("value " + relation.id() + ' ' + name, () -> logger.warn(
				"A value of the column {} of {}.{} cannot be converted, so listeners get it as unavailable (this is logged once per column): {}",
				name, relation.schema(), relation.name(), reason));
	}

	private void ask(Asked asked, Set<Integer> missing, List<RowImage> images) {
		if (asked.isTooSlow) {
			images.forEach((image) -> image.answer(asked.filter,
					new RowImage.Answer(false, "the filter took too long for another row, and was not asked")));
			return;
		}
		RowSql sql = new RowSql(asked.table, missing);
		DataAccessException failure = failureOf(() -> run(sql.matches(List.of(asked.filter)), sql.columns(), images,
				(row) -> images.get(row.getInt("#i"))
					.answer(asked.filter, row.getBoolean("#f0") ? RowImage.Answer.YES : RowImage.Answer.NO)));
		if (failure == null) {
			return;
		}
		if (images.size() > 1) {
			int half = images.size() / 2;
			ask(asked, missing, images.subList(0, half));
			ask(asked, missing, images.subList(half, images.size()));
			return;
		}
		String reason = reasonOf(failure);
		images.get(0).answer(asked.filter, new RowImage.Answer(false, reason));
		asked.isTooSlow = failure.getMostSpecificCause() instanceof SQLException ex
				&& TIMED_OUT.equals(ex.getSQLState());
		Relation relation = asked.table.relation();
		once("filter " + relation.id() + ' ' + asked.filter, () -> logger.warn(
				"The filter [{}] fails on a row of {}.{}, which its listeners get as an error (this is logged once per filter): {}",
				asked.filter, relation.schema(), relation.name(), reason));
	}

	private void once(String what, Runnable log) {
		if (this.logged.size() < MAX_REMEMBERED && this.logged.add(what)) {
			log.run();
		}
	}

	/**
	 * Returns why an attempt failed, unless the database as such is to blame, so that
	 * nothing else would do better.
	 */
	private static @Nullable DataAccessException failureOf(Runnable attempt) {
		try {
			attempt.run();
			return null;
		}
		catch (DataAccessException ex) {
			if (DatabaseTrouble.of(ex) != DatabaseTrouble.NONE) {
				throw ex;
			}
			return ex;
		}
	}

	private static String reasonOf(DataAccessException failure) {
		String message = String.valueOf(failure.getMostSpecificCause().getMessage());
		int notKnown = message.indexOf(RowSql.NOT_KNOWN);
		if (notKnown >= 0) {
			message = "the value of a column is not in the stream of changes: "
					+ message.substring(notKnown + RowSql.NOT_KNOWN.length()).lines().findFirst().orElse("");
		}
		int length = Math.min(message.length(), MAX_ERROR_LENGTH);
		if (length > 0 && length < message.length() && Character.isHighSurrogate(message.charAt(length - 1))) {
			length--;
		}
		return message.substring(0, length);
	}

	private void run(String sql, List<Integer> columns, List<RowImage> images, RowReader reader) {
		List<Object> values = new ArrayList<>(columns.size() + 1);
		Integer[] numbers = new Integer[images.size()];
		for (int i = 0; i < numbers.length; i++) {
			numbers[i] = i;
		}
		values.add(numbers);
		for (int column : columns) {
			@Nullable String[] array = new String[images.size()];
			for (int i = 0; i < array.length; i++) {
				array[i] = images.get(i).value(column);
			}
			values.add(array);
		}
		this.database.ownReadOnlyRoundTrip(this.settings, sql).run(values, (row) -> {
			while (row.next()) {
				reader.read(row);
			}
			return images;
		});
	}

	private interface RowReader {

		void read(ResultSet row) throws SQLException;

	}

	/**
	 * A filter that fails, while it is asked about one part of the rows after another.
	 */
	private static final class Asked {

		private final TypedRelation table;

		private final String filter;

		private boolean isTooSlow;

		Asked(TypedRelation table, String filter) {
			this.table = table;
			this.filter = filter;
		}

	}

}
