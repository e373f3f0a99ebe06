package io.pgbus.store;

import java.util.List;
import java.util.Set;

import io.pgbus.PgBusException;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;

/**
 * Finds tables to read rows of, and checks queries on them.
 */
final class BackfillTables {

	private static final String FIND = """
			select c.oid::bigint as id, n.nspname, c.relname, c.relkind::text, c.relreplident = 'f' and c.relkind = 'r' as whole
			from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = to_regclass(:name)
			""";

	private static final String BY_NAME = """
			select c.oid::bigint as id, n.nspname, c.relname, c.relkind::text, c.relreplident = 'f' and c.relkind = 'r' as whole
			from pg_class c join pg_namespace n on n.oid = c.relnamespace
			where n.nspname = :schema and c.relname = :table
			""";

	private static final String PRIMARY_KEY = """
			select a.attname::text
			from pg_index i
			cross join lateral unnest(i.indkey) with ordinality as k(number, n)
			join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
			where i.indrelid = :table::oid and i.indisprimary and k.n <= i.indnkeyatts
			order by k.n
			""";

	/** What the stream has of old rows. Nothing: then no row moves or goes in it. */
	private static final String IDENTITY = """
			select a.attname::text
			from pg_class c
			join pg_index i on i.indrelid = c.oid and (
				c.relreplident in ('d', 'n') and i.indisprimary or c.relreplident = 'i' and i.indisreplident
				or c.relreplident = 'f' and i.indisprimary
			)
			join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
			where c.oid = :table::oid
			""";

	private final BusDatabase database;

	private final RelationCatalog catalog;

	BackfillTables(BusDatabase database, RelationCatalog catalog) {
		this.database = database;
		this.catalog = catalog;
	}

	/**
	 * Finds a table by its name.
	 * @param name the name, as SQL has it
	 * @return the table
	 * @throws PgBusException if there is none, or its rows cannot be read one after the
	 * other
	 */
	PublishedTable find(String name) {
		Found found;
		try {
			found = this.database.own(FIND)
				.param("name", name)
				.query((row,
						index) -> new Found(new PublishedTable((int) row.getLong("id"), row.getString("nspname"),
								row.getString("relname"), row.getBoolean("whole")), row.getString("relkind")))
				.optional()
				.orElse(null);
		}
		catch (DataAccessException ex) {
			throw new PgBusException("A backfill names the table [" + name + "], which could not be looked up: "
					+ ex.getMostSpecificCause().getMessage() + ". Name it as SQL does.", ex);
		}
		if (found == null) {
			throw new PgBusException("A backfill names the table [" + name + "], which does not exist on the search "
					+ "path. Make it before, or name it as SQL does: perhaps with its schema, and in double quotes "
					+ "where it has upper-case letters.");
		}
		if (!Set.of("r", "p").contains(found.kind())) {
			throw new PgBusException("A backfill names [" + name + "], which is no table. Name the table whose rows "
					+ "they are, and read from the other by the query.");
		}
		return found.table();
	}

	/**
	 * Describes a table as it is now.
	 * @param schema the name of its schema, as it is without quotes
	 * @param name the name of the table, as it is without quotes
	 * @return the table
	 * @throws PgBusException if it is gone or has no primary key
	 */
	BackfillTable describe(String schema, String name) {
		PublishedTable table = this.database.own(BY_NAME)
			.param("schema", schema)
			.param("table", name)
			.query((row, index) -> new PublishedTable((int) row.getLong("id"), schema, name, row.getBoolean("whole")))
			.optional()
			.orElseThrow(() -> new PgBusException("The table " + PublishedTable.qualifiedName(schema, name)
					+ " does not exist any more. Cancel the backfill, or make the table and restart it."));
		String id = Integer.toUnsignedString(table.id());
		List<String> keyNames = this.database.own(PRIMARY_KEY)
			.param("table", id)
			.query((row, index) -> row.getString(1))
			.list();
		Set<String> identity = Set
			.copyOf(this.database.own(IDENTITY).param("table", id).query((row, index) -> row.getString(1)).list());
		Relation today = this.catalog.today(table);
		Relation relation = new Relation(today.id(), schema, name, table.wholeRows(),
				today.columns()
					.stream()
					.map((column) -> new Relation.Column(column.name(), column.typeId(), column.typeModifier(),
							table.wholeRows() || identity.contains(column.name())))
					.toList());
		List<String> names = relation.columns().stream().map(Relation.Column::name).toList();
		List<Integer> key = keyNames.stream().map(names::indexOf).toList();
		if (key.isEmpty() || key.contains(-1)) {
			throw new PgBusException("The table " + table.qualifiedName() + " has no primary key"
					+ (key.isEmpty() ? "" : " without generated columns")
					+ ", so its rows cannot be read in an order that stays. Add a primary key.");
		}
		return new BackfillTable(relation, this.catalog.again(relation), key);
	}

	/**
	 * Checks a query and a filter, and looks which columns the query yields.
	 * @param table the table
	 * @param query the query, or {@code null} for the whole table
	 * @param filter the filter, or {@code null}
	 * @return what to read
	 * @throws IllegalArgumentException if PostgreSQL does not take them, or the query
	 * does not yield the primary key
	 */
	BackfillQuery query(BackfillTable table, @Nullable String query, @Nullable String filter) {
		BackfillQuery everything = new BackfillQuery(table, query, filter, Set.of());
		Set<String> yielded = columns(table, query, everything);
		for (int column : table.key()) {
			String name = table.relation().columns().get(column).name();
			if (!yielded.contains(name)) {
				throw new IllegalArgumentException("The backfill query [" + query + "] for " + table.qualifiedName()
						+ " does not yield the column \"" + name + "\" of the primary key. It yields " + yielded
						+ ". Select it.");
			}
		}
		BackfillQuery checked = new BackfillQuery(table, query, filter, yielded);
		try {
			this.database.ownVerbatim(checked.keyTypes()).query((row, index) -> {
				for (int i = 0; i < table.key().size(); i++) {
					String type = row.getString(2 * i + 1);
					String wanted = row.getString(2 * i + 2);
					if (!type.equals(wanted)) {
						throw new IllegalArgumentException(
								"The backfill query [" + query + "] for " + table.qualifiedName()
										+ " yields the primary key's column \"" + table.keyNames().get(i) + "\" as "
										+ type + ", but it is " + wanted + ". Select it as it is.");
					}
				}
				return true;
			}).list();
			this.database.ownVerbatim("explain " + checked.read(false, false))
				.params(checked.parameters(null, null, 1, 1))
				.query()
				.listOfRows();
		}
		catch (DataAccessException ex) {
			throw refused(table, query, filter, ex);
		}
		return checked;
	}

	private Set<String> columns(BackfillTable table, @Nullable String query, BackfillQuery everything) {
		try {
			return this.database.ownVerbatim(everything.columns()).query(BackfillQuery::columnNames);
		}
		catch (DataAccessException ex) {
			throw refused(table, query, null, ex);
		}
	}

	private static RuntimeException refused(BackfillTable table, @Nullable String query, @Nullable String filter,
			DataAccessException ex) {
		if (DatabaseTrouble.of(ex) != DatabaseTrouble.NONE) {
			return ex;
		}
		return new IllegalArgumentException("PostgreSQL does not take the backfill query ["
				+ ((query != null) ? query : "the whole table") + "]"
				+ ((filter != null) ? " with the filter [" + filter + "]" : "") + " for " + table.qualifiedName() + ": "
				+ ex.getMostSpecificCause().getMessage()
				+ ". A query is one select, which yields the primary key and other columns by their names; a filter "
				+ "is a condition on what it yields.", ex);
	}

	/**
	 * Asks the planner how many rows there are.
	 * @param query what is read
	 * @return an estimate, or {@code null} if there is none
	 */
	@Nullable Long estimate(BackfillQuery query) {
		String plan = this.database.ownVerbatim("explain " + query.all())
			.query((row, index) -> row.getString(1))
			.list()
			.get(0);
		int rows = plan.indexOf(" rows=");
		int end = plan.indexOf(' ', rows + 1);
		return (rows >= 0 && end > 0) ? Long.valueOf(plan.substring(rows + " rows=".length(), end)) : null;
	}

	private record Found(PublishedTable table, String kind) {

	}

}
