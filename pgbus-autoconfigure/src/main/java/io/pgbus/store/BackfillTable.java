package io.pgbus.store;

import java.util.List;

/**
 * A table whose rows are read.
 *
 * @param relation the table as the stream of changes would describe it, so that a row's
 * events have the key that those of its changes have
 * @param typed the same with its types
 * @param key the indexes of the primary key's columns, in its order
 */
record BackfillTable(Relation relation, TypedRelation typed, List<Integer> key) {

	String qualifiedName() {
		return PublishedTable.qualifiedName(this.relation.schema(), this.relation.name());
	}

	List<String> keyNames() {
		return this.key.stream().map((column) -> this.relation.columns().get(column).name()).toList();
	}

	/** As SQL has it. */
	String keyType(int column) {
		return this.typed.types().get(column).declared();
	}

}
