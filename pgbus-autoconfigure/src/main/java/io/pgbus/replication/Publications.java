package io.pgbus.replication;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import io.pgbus.ListenedTable;
import io.pgbus.PgBusException;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.TableInterest;
import io.pgbus.store.TableSubscription;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.core.NestedExceptionUtils;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * The publications of a bus, to which tables are added that listeners want. A table is
 * refused rather than harmed: neither it nor a publication is changed then. Nothing here
 * takes a lock that readers or writers of a table would wait for.
 *
 * @since 0.1.0
 */
public final class Publications {

	private static final Logger logger = LoggerFactory.getLogger(Publications.class);

	/** Only changes of the table's definition, and vacuum, are in the way. */
	private static final String LOCK_TIMEOUT = "set local lock_timeout = '10s'";

	private static final String SEARCH_PATH = "select current_setting('search_path')";

	/**
	 * Generated columns are in the stream from PostgreSQL 18 on, if that is asked for.
	 */
	private static final String CREATE = """
			do $$ begin
				execute format('create publication %%I with (publish = %%L, publish_via_partition_root = true%%s)',
					%s, '%s', case when current_setting('server_version_num')::integer >= 180000
						then ', publish_generated_columns = stored' else '' end);
			end $$
			""";

	private static final String SETTINGS = """
			select puballtables, pubviaroot, pubinsert, pubupdate, pubdelete, pubtruncate
			from pg_publication where pubname = :name
			""";

	private static final String ADD = "alter publication %s add table only %s";

	private static final String DROP = "alter publication %s drop table only %s";

	/** What this role could not add again stays. */
	private static final String MEMBERS = """
			select n.nspname, c.relname, format('%I.%I', n.nspname, c.relname) as quoted
			from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
			join pg_class c on c.oid = r.prrelid join pg_namespace n on n.oid = c.relnamespace
			where p.pubname = :name and pg_has_role(c.relowner, 'USAGE') and pg_has_role(p.pubowner, 'USAGE')
			order by c.oid
			""";

	private static final String ALL_OPERATIONS = "insert, update, delete, truncate";

	private static final String INSERTS = "insert, truncate";

	/** Another instance has done the same, or does it at this moment. */
	private static final Set<String> DONE_BY_ANOTHER = Set.of("42710", "23505", "XX000", "40001", "40P01");

	private static final String IS_MEMBER = "42710";

	private static final String NO_MEMBER = "42704";

	private static final int ATTEMPTS = 5;

	private final BusDatabase database;

	private final PublicationNames names;

	/**
	 * Creates the publications' keeper, which does nothing yet.
	 * @param database the database
	 * @param settings has the name of the publication
	 * @throws IllegalArgumentException if PostgreSQL would not take the name
	 */
	public Publications(BusDatabase database, CaptureSettings settings) {
		this.database = database;
		this.names = PublicationNames.of(settings.publication());
	}

	/**
	 * Makes the publications if they do not exist, and checks them, in transactions of
	 * its own.
	 * @throws PgBusException if they are missing and may not be made, or are not as the
	 * bus needs them, with the remedy
	 */
	public void create() {
		ensure(this.names.all(), ALL_OPERATIONS);
		ensure(this.names.inserts(), INSERTS);
	}

	/**
	 * Finds tables, and checks that listeners can have what they want of them and that
	 * publishing them does no harm. Nothing is changed.
	 * @param wanted the tables and what is wanted of them
	 * @return the tables, in the same order
	 * @throws PgBusException if a table is refused, with the reason and the remedy
	 */
	public List<TableInterest> find(Collection<ListenedTable> wanted) {
		return interests(check(wanted));
	}

	/**
	 * Does what {@link #find} does, and only then adds the tables to a publication that
	 * are in none. In transactions of its own.
	 * @param wanted the tables and what is wanted of them
	 * @return the tables, in the same order
	 * @throws PgBusException if a table is refused, with the reason and the remedy
	 */
	public List<TableInterest> admit(Collection<ListenedTable> wanted) {
		create();
		List<Admission> admissions = check(wanted);
		for (Admission admission : admissions) {
			TableFacts facts = admission.table();
			if (!(admission.insertOnly() ? facts.inInserts() : facts.inAll())) {
				add(admission);
			}
		}
		return interests(admissions);
	}

	private List<Admission> check(Collection<ListenedTable> wanted) {
		List<Admission> admissions = new ArrayList<>();
		for (ListenedTable table : wanted) {
			TableFacts facts = find(table.name());
			boolean insertOnly = PublicationRules.checkIsInsertOnly(table, facts, this.database.schema(), this.names);
			admissions.add(new Admission(table, facts, insertOnly));
		}
		return admissions;
	}

	private static List<TableInterest> interests(List<Admission> admissions) {
		return admissions.stream()
			.map((admission) -> new TableInterest(admission.table().published(), admission.wanted()))
			.toList();
	}

	/**
	 * Tells whether there are tables that {@link #dropUnused} would take out.
	 * @param wanted the tables that are to stay
	 * @return whether there are
	 */
	public boolean hasUnused(Collection<TableSubscription> wanted) {
		return !unused(this.names.all(), wanted).isEmpty() || !unused(this.names.inserts(), wanted).isEmpty();
	}

	/**
	 * Takes tables out of the publications that nobody wants any more and that this role
	 * owns, each in a transaction of its own.
	 * @param wanted the tables that are to stay
	 */
	public void dropUnused(Collection<TableSubscription> wanted) {
		for (boolean insertOnly : new boolean[] { false, true }) {
			String publication = insertOnly ? this.names.inserts() : this.names.all();
			for (String table : unused(publication, wanted)) {
				change(DROP.formatted(this.names.of(insertOnly), table), NO_MEMBER);
				logger.info("Table {} is no longer in the publication {}: no group listens to it", table, publication);
			}
		}
	}

	private List<String> unused(String publication, Collection<TableSubscription> wanted) {
		Set<Map.Entry<String, String>> kept = wanted.stream()
			.map((table) -> Map.entry(table.schema(), table.table()))
			.collect(Collectors.toSet());
		return this.database.inOwnTransaction((jdbc) -> jdbc.sql(MEMBERS)
			.param("name", publication)
			.query((row, index) -> Map.entry(Map.entry(row.getString("nspname"), row.getString("relname")),
					row.getString("quoted")))
			.list()
			.stream()
			.filter((member) -> !kept.contains(member.getKey()))
			.map(Map.Entry::getValue)
			.toList());
	}

	private void ensure(String name, String operations) {
		for (int attempt = 1; !isThereAndFits(name, operations); attempt++) {
			String quoted = name.replace("'", "''");
			try {
				this.database
					.inOwnTransaction((jdbc) -> jdbc.sql(CREATE.formatted("'" + quoted + "'", operations)).update());
				logger.info("Made the publication {}", name);
			}
			catch (DataAccessException ex) {
				if (attempt == ATTEMPTS || !DONE_BY_ANOTHER.contains(state(ex))) {
					throw new PgBusException(("The publication \"%s\" does not exist and could not be made: %s. Let a "
							+ "role that may make publications run: create publication %s with (publish = '%s', "
							+ "publish_via_partition_root = true);")
						.formatted(name, reason(ex), quoted(name), operations), ex);
				}
			}
		}
	}

	private boolean isThereAndFits(String name, String operations) {
		List<Boolean> fits = this.database
			.inOwnTransaction((jdbc) -> jdbc.sql(SETTINGS).param("name", name).query((row, index) -> {
				if (row.getBoolean("puballtables")) {
					throw new PgBusException(
							("The publication \"%s\" is for all tables, and pgbus publishes only tables "
									+ "that are listened to. Drop it, or set pgbus.capture.publication to another name.")
								.formatted(name));
				}
				boolean all = operations.equals(ALL_OPERATIONS);
				return row.getBoolean("pubviaroot") && row.getBoolean("pubinsert") && row.getBoolean("pubtruncate")
						&& row.getBoolean("pubupdate") == all && row.getBoolean("pubdelete") == all;
			}).list());
		if (fits.contains(false)) {
			throw new PgBusException(
					("The publication \"%s\" does not publish what pgbus needs. Run: alter publication "
							+ "%s set (publish = '%s', publish_via_partition_root = true); or set pgbus.capture.publication to "
							+ "another name.")
						.formatted(name, quoted(name), operations));
		}
		return !fits.isEmpty();
	}

	private TableFacts find(String name) {
		try {
			return this.database.inOwnTransaction((jdbc) -> lookUp(jdbc, name));
		}
		catch (DataAccessException ex) {
			throw new PgBusException("A table listener names the table [" + name + "], which could not be looked up: "
					+ reason(ex) + ". Name it as SQL does: perhaps with its schema, and in double quotes where it has "
					+ "upper-case letters.", ex);
		}
	}

	private TableFacts lookUp(JdbcClient jdbc, String name) {
		return jdbc.sql(TableFacts.SQL)
			.param("name", name)
			.param("all", this.names.all())
			.param("inserts", this.names.inserts())
			.query(TableFacts::read)
			.optional()
			.orElseThrow(() -> new PgBusException(("A table listener names the table [%s], which does not exist on the "
					+ "search path [%s]. Make it before the listener starts, or name it as SQL does: perhaps with its "
					+ "schema, and in double quotes where it has upper-case letters.")
				.formatted(name, jdbc.sql(SEARCH_PATH).query(String.class).single())));
	}

	private void add(Admission admission) {
		String quoted = admission.table().quoted();
		String publication = this.names.of(admission.insertOnly());
		try {
			change(ADD.formatted(publication, quoted), IS_MEMBER);
			logger.info("Table {} is in the publication {} now", quoted, publication);
		}
		catch (DataAccessException ex) {
			if ("55P03".equals(state(ex))) {
				throw new PgBusException(("The table %s could not be added to the publication %s: its definition was "
						+ "locked for 10 s, by a change of it or a vacuum. Start the listener again when that is over.")
					.formatted(quoted, publication), ex);
			}
			throw new PgBusException(
					("The table %s could not be added to the publication %s: %s. Let the owner of both "
							+ "run: alter publication %s add table only %s;")
						.formatted(quoted, publication, reason(ex), publication, quoted),
					ex);
		}
	}

	/** Changes a publication; that another instance has done it already is no error. */
	private void change(String sql, String doneState) {
		for (int attempt = 1;; attempt++) {
			try {
				this.database.inOwnTransaction((jdbc) -> {
					jdbc.sql(LOCK_TIMEOUT).update();
					return jdbc.sql(sql).update();
				});
				return;
			}
			catch (DataAccessException ex) {
				if (doneState.equals(state(ex))) {
					logger.debug("Done by another instance: {}", sql, ex);
					return;
				}
				if (attempt == ATTEMPTS || !DONE_BY_ANOTHER.contains(state(ex))) {
					throw ex;
				}
			}
		}
	}

	private static String state(DataAccessException ex) {
		return (ex.getMostSpecificCause() instanceof SQLException cause) ? String.valueOf(cause.getSQLState()) : "";
	}

	private static String reason(DataAccessException ex) {
		String message = String.valueOf(NestedExceptionUtils.getMostSpecificCause(ex).getMessage());
		return message.lines().findFirst().orElse(message);
	}

	private static String quoted(String name) {
		return '"' + name.replace("\"", "\"\"") + '"';
	}

	private record Admission(ListenedTable wanted, TableFacts table, boolean insertOnly) {

	}

}
