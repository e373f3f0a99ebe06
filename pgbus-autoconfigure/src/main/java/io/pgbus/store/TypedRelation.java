package io.pgbus.store;

import java.util.List;

/**
 * A relation with what the catalog says about it.
 *
 * @param relation the relation
 * @param types the types of its columns, in the same order
 * @param key the indexes of the columns that tell its rows apart, in the order of the
 * primary key; empty if there are none
 */
record TypedRelation(Relation relation, List<Type> types, List<Integer> key) {

	TypedRelation {
		types = List.copyOf(types);
		key = List.copyOf(key);
	}

	/**
	 * How the values of a column become typed.
	 *
	 * @param stored the type from which JSON is made, as SQL has it
	 * @param declared the type that filters see, as SQL has it
	 */
	record Type(String stored, String declared) {

	}

}
