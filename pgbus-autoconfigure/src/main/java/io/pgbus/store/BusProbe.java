package io.pgbus.store;

/**
 * Asks the database whether the bus is there.
 *
 * @since 0.1.0
 */
public final class BusProbe {

	private static final String VERSION = "select schema_version from {bus}.bus";

	private final BusDatabase database;

	/**
	 * Creates the probe.
	 * @param database the database
	 */
	public BusProbe(BusDatabase database) {
		this.database = database;
	}

	/**
	 * Checks the version of the schema, which another instance may have changed.
	 * @return what is wrong with it, or an empty text
	 * @throws org.springframework.dao.DataAccessException if the database does not answer
	 */
	public String problem() {
		int version = this.database.own(VERSION).query(Integer.class).single();
		return (version == SchemaInitializer.VERSION) ? ""
				: "The schema \"%s\" has version %d, but this needs version %d".formatted(this.database.schema(),
						version, SchemaInitializer.VERSION);
	}

}
