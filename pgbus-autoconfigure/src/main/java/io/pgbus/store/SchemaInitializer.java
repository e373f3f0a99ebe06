package io.pgbus.store;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.List;

import io.pgbus.PgBusException;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.CannotGetJdbcConnectionException;

/**
 * Brings the bus's schema to the version this code needs, or checks that it is there.
 * Flyway runs the scripts with a history table of its own inside the bus's schema, so the
 * application's migrations are never met.
 *
 * @since 0.1.0
 */
public final class SchemaInitializer {

	/** The version of the schema that the statements of this package need. */
	static final int VERSION = 7;

	/** SQL-standard function bodies came with it. */
	private static final int OLDEST_SERVER = 14;

	private static final String HISTORY_TABLE = "pgbus_schema_history";

	private static final String EXISTS = """
			select to_regclass(quote_ident(:schema) || '.bus') is not null
			""";

	private static final String HISTORY_EXISTS = """
			select to_regclass(quote_ident(:schema) || '.%s') is not null
			""".formatted(HISTORY_TABLE);

	private static final String IS_MISSING = "select to_regnamespace(quote_ident(:schema)) is null";

	private static final String CREATE_SCHEMA = "create schema if not exists {bus}";

	private static final String STORED_VERSION = "select schema_version from {bus}.bus";

	private static final String IS_READ_ONLY = "select current_setting('transaction_read_only')::boolean";

	private static final Logger logger = LoggerFactory.getLogger(SchemaInitializer.class);

	private final BusDatabase database;

	/**
	 * Creates the initializer.
	 * @param database the database
	 */
	public SchemaInitializer(BusDatabase database) {
		this.database = database;
	}

	/**
	 * Makes the schema if it does not exist and migrates it to the version this code
	 * needs. One that was made by hand is migrated from its version on. Where nothing is
	 * to be done nothing is, so that this needs neither rights nor a direct connection.
	 * @throws PgBusException if the database cannot hold a bus, or holds a newer one, or
	 * one that was moved and not re-based
	 */
	public void migrate() {
		checkServer();
		int stored = storedVersion();
		if (stored < VERSION) {
			if (stored > 0) {
				// what is written now would be in the way of what comes
				new Origin(this.database).checkAllHasCome();
			}
			createSchema();
			migrateFrom(stored);
		}
		checkVersion();
		new Origin(this.database).check();
	}

	private void migrateFrom(int stored) {
		Flyway flyway = flyway(stored);
		try {
			flyway.migrate();
		}
		catch (FlywayException ex) {
			if (!this.database.own(HISTORY_EXISTS)
				.param("schema", this.database.schema())
				.query(Boolean.class)
				.single()) {
				throw ex;
			}
			// Another instance may have made the table between two looks of Flyway's.
			// It has seen it now, and waits until the other is done.
			logger.debug("The schema is migrated once more, as another instance may do so too", ex);
			flyway.migrate();
		}
	}

	private Flyway flyway(int stored) {
		return Flyway.configure(getClass().getClassLoader())
			.dataSource(this.database.dataSource())
			.locations("classpath:" + SchemaScripts.LOCATION)
			.resourceProvider(new SchemaScripts())
			.javaMigrationClassProvider(List::of)
			.defaultSchema(this.database.schema())
			.table(HISTORY_TABLE)
			.createSchemas(false)
			.baselineOnMigrate(true)
			.baselineVersion(String.valueOf(stored))
			.placeholderReplacement(false)
			.outputQueryResults(false)
			.load();
	}

	/** Flyway would try ten times where the role may not. */
	private void createSchema() {
		if (this.database.own(IS_MISSING).param("schema", this.database.schema()).query(Boolean.class).single()) {
			try {
				this.database.own(CREATE_SCHEMA).update();
			}
			catch (DuplicateKeyException ex) {
				logger.debug("Another instance has made the schema at the same time", ex);
			}
		}
	}

	/**
	 * Checks that the schema has the version this code needs.
	 * @throws PgBusException if it has not, with what to run, or if the database cannot
	 * hold a bus, or holds one that was moved and not re-based
	 */
	public void check() {
		checkServer();
		checkVersion();
		new Origin(this.database).check();
	}

	private void checkServer() {
		try (Connection connection = this.database.dataSource().getConnection()) {
			DatabaseMetaData metadata = connection.getMetaData();
			String product = metadata.getDatabaseProductName();
			if (!"PostgreSQL".equals(product)) {
				throw new PgBusException("The bus lives in PostgreSQL, but its DataSource is one of " + product
						+ ". Mark another DataSource with @PgBusDataSource, or set pgbus.enabled=false.");
			}
			if (metadata.getDatabaseMajorVersion() < OLDEST_SERVER) {
				throw new PgBusException("The bus needs PostgreSQL " + OLDEST_SERVER + " or later, but the server has "
						+ metadata.getDatabaseProductVersion() + ".");
			}
		}
		catch (SQLException ex) {
			throw new CannotGetJdbcConnectionException("The database of the bus cannot be reached", ex);
		}
		if (this.database.own(IS_READ_ONLY).query(Boolean.class).single()) {
			throw new PgBusException("The database of the bus takes no writes: it is a standby server, or "
					+ "default_transaction_read_only is on for this role or database.");
		}
	}

	private void checkVersion() {
		int stored = storedVersion();
		if (stored == VERSION) {
			logger.debug("Schema \"{}\" has version {}", this.database.schema(), stored);
			return;
		}
		if (stored > VERSION) {
			throw new PgBusException(
					"The schema \"%s\" has version %d, but this pgbus is made for version %d. Use a newer pgbus."
						.formatted(this.database.schema(), stored, VERSION));
		}
		throw new PgBusException("""
				The schema "%s" %s, but this pgbus needs version %d. As the role that shall own it run

				%s
				with the %s from %s in the pgbus-autoconfigure jar; or let the application do it by \
				pgbus.schema.initialize=always.""".formatted(this.database.schema(),
				(stored == 0) ? "has no bus" : "has version " + stored, VERSION, whatToRun(stored),
				(VERSION - stored == 1) ? "script" : "scripts", SchemaScripts.LOCATION));
	}

	/** As it is written for psql. */
	private String whatToRun(int stored) {
		StringBuilder commands = new StringBuilder();
		if (stored == 0) {
			commands.append(this.database.sql("    create schema if not exists {bus};\n"));
		}
		commands.append(this.database.sql("    set search_path = {bus};\n"));
		SchemaScripts.names()
			.stream()
			.filter((script) -> SchemaScripts.versionOf(script) > stored)
			.sorted(Comparator.comparingInt(SchemaScripts::versionOf))
			.forEach((script) -> commands.append("    \\i ").append(script).append('\n'));
		return commands.toString();
	}

	private int storedVersion() {
		boolean exists = this.database.own(EXISTS)
			.param("schema", this.database.schema())
			.query(Boolean.class)
			.single();
		if (!exists) {
			return 0;
		}
		return this.database.own(STORED_VERSION)
			.query(Integer.class)
			.optional()
			.orElseThrow(() -> new PgBusException("""
					The schema "%s" has the tables of a bus, but nothing in them, not even its version: they are those \
					of a bus that is still to be moved here. See "Moving a bus" in docs/operations.md."""
				.formatted(this.database.schema())));
	}

}
