package io.pgbus.store;

import java.util.List;

import io.pgbus.PgBusException;
import org.flywaydb.core.Flyway;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings the bus's schema to the version this code needs, or checks that it is there.
 * Flyway runs the scripts with a history table of its own inside the bus's schema, so the
 * application's migrations are never met.
 *
 * @since 0.1.0
 */
public final class SchemaInitializer {

	/** The version of the schema that the statements of this package need. */
	static final int VERSION = 1;

	private static final String LOCATION = "classpath:io/pgbus/store/schema";

	private static final String EXISTS = """
			select to_regclass(quote_ident(:schema) || '.bus') is not null
			""";

	private static final String STORED_VERSION = "select schema_version from {bus}.bus";

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
	 * needs. A schema that was made by hand is taken over at its version.
	 */
	public void migrate() {
		Flyway.configure(getClass().getClassLoader())
			.dataSource(this.database.dataSource())
			.locations(LOCATION)
			.defaultSchema(this.database.schema())
			.createSchemas(true)
			.baselineOnMigrate(true)
			.baselineVersion(String.valueOf(storedVersion()))
			.placeholderReplacement(false)
			.load()
			.migrate();
		check();
	}

	/**
	 * Checks that the schema has the version this code needs.
	 * @throws PgBusException if it has not, with what to run
	 */
	public void check() {
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
		List<String> scripts = java.util.stream.IntStream.rangeClosed(stored + 1, VERSION)
			.mapToObj((version) -> "V" + version + "__*.sql")
			.toList();
		throw new PgBusException(
				("The schema \"%s\" %s, but this pgbus needs version %d. As the role that owns it, run %s from "
						+ "%s in the pgbus-autoconfigure jar, with search_path set to %s%s; or let the application do it: "
						+ "pgbus.schema.initialize=always.")
					.formatted(this.database.schema(), (stored == 0) ? "has no bus" : "has version " + stored, VERSION,
							String.join(", then ", scripts), LOCATION.substring("classpath:".length()),
							this.database.sql("{bus}"),
							(stored == 0) ? " (create schema %s first)".formatted(this.database.sql("{bus}")) : ""));
	}

	private int storedVersion() {
		boolean exists = this.database.own(EXISTS)
			.param("schema", this.database.schema())
			.query(Boolean.class)
			.single();
		return exists ? this.database.own(STORED_VERSION).query(Integer.class).single() : 0;
	}

}
