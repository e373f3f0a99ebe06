package io.pgbus.replication;

import java.nio.charset.StandardCharsets;

/**
 * The two publications of a bus.
 *
 * @param all the one with all operations
 * @param inserts the one for tables whose old rows cannot be identified, so that updates
 * and deletes must not be published
 */
record PublicationNames(String all, String inserts) {

	private static final int MAX_NAME_BYTES = 63;

	private static final String SUFFIX = "_insert";

	/**
	 * Returns the names.
	 * @param name the name of the first
	 * @throws IllegalArgumentException if PostgreSQL would not take it, or cut it
	 */
	static PublicationNames of(String name) {
		if (name.isBlank() || name.indexOf('\0') >= 0
				|| (name + SUFFIX).getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES) {
			throw new IllegalArgumentException("The publication's name is \"" + name + "\", but it must have 1 to "
					+ (MAX_NAME_BYTES - SUFFIX.length())
					+ " bytes in UTF-8, not all of them white space. Set pgbus.capture.publication.");
		}
		return new PublicationNames(name, name + SUFFIX);
	}

	/** One of the names, as SQL has it. */
	String of(boolean insertOnly) {
		return quote(insertOnly ? this.inserts : this.all);
	}

	/** Both names, as an option of the plugin has them. */
	String option() {
		return quote(this.all) + "," + quote(this.inserts);
	}

	private static String quote(String name) {
		return '"' + name.replace("\"", "\"\"") + '"';
	}

}
