package io.pgbus;

/**
 * What has happened to a row of a table, or to the table.
 *
 * @since 0.1.0
 */
public enum TableOperation {

	/** The row is new. */
	INSERT,

	/** The row has other values. */
	UPDATE,

	/** The row is gone. */
	DELETE,

	/** All rows are gone. */
	TRUNCATE,

	/** The row was read from the table. */
	READ,

	/**
	 * Changes were missed: the server no longer has them. What was missed is unknown.
	 */
	GAP

}
