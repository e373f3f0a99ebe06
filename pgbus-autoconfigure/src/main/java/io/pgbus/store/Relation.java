package io.pgbus.store;

import java.util.List;

/**
 * A table as the stream of changes described it, at the time of the changes that follow.
 *
 * @param id the table's oid
 * @param schema the name of the schema, as it is without quotes
 * @param name the name of the table, as it is without quotes
 * @param wholeRows whether old rows come whole: the replica identity is full
 * @param columns the columns, in the order of the values of rows
 * @since 0.1.0
 */
public record Relation(int id, String schema, String name, boolean wholeRows, List<Column> columns) {

	/**
	 * Copies the columns.
	 */
	public Relation {
		columns = List.copyOf(columns);
	}

	/**
	 * A column.
	 *
	 * @param name the name, as it is without quotes
	 * @param typeId the type's oid
	 * @param typeModifier the type's modifier, -1 for none
	 * @param inIdentity whether it is part of the replica identity
	 */
	public record Column(String name, int typeId, int typeModifier, boolean inIdentity) {

	}

}
