package io.pgbus;

import org.springframework.util.Assert;

/**
 * The rows that a group gets of a table when it first listens to it.
 *
 * @param query a select that yields the rows: the primary key's columns, and the others
 * that are wanted, by their names
 * @param liveChanges what becomes of changes meanwhile
 * @param name the name of the backfill. A group gets a backfill of one name once, for
 * each table; with another name it gets the rows again
 * @since 0.1.0
 */
public record TableBackfill(String query, LiveChanges liveChanges, String name) {

	/** The name by default. */
	public static final String DEFAULT_NAME = "initial";

	/**
	 * Checks the parts.
	 * @throws IllegalArgumentException if the query or the name is blank
	 */
	public TableBackfill {
		Assert.hasText(query, "A backfill has a blank query");
		Assert.hasText(name, "A backfill has a blank name");
	}

}
