package io.pgbus.replication;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

import io.pgbus.ListenedTable;
import io.pgbus.PgBusException;
import io.pgbus.TableOperation;

/**
 * Which tables may be published. A table whose writers would fail once it is published,
 * or of which the stream would say something wrong, is refused.
 */
final class PublicationRules {

	private static final Set<TableOperation> WITHOUT_OLD_ROWS = EnumSet
		.complementOf(EnumSet.of(TableOperation.UPDATE, TableOperation.DELETE));

	private static final Map<Character, String> KINDS = Map.of('v', "a view", 'm', "a materialized view", 'f',
			"a foreign table", 'S', "a sequence", 'i', "an index", 'I', "an index", 'c', "a type", 't',
			"a TOAST table");

	private PublicationRules() {
	}

	/**
	 * Checks a table.
	 * @param wanted what a listener wants of the table
	 * @param table the table
	 * @param busSchema the bus's own schema
	 * @param names the publications, as SQL has them
	 * @return whether inserts and truncates are all that may be published
	 * @throws PgBusException if the listener cannot have what it wants
	 */
	static boolean checkIsInsertOnly(ListenedTable wanted, TableFacts table, String busSchema, PublicationNames names) {
		checkKind(table, busSchema);
		boolean insertOnly = !table.inAll() && !table.identifiesRows();
		if (!table.identifiesRows() && !WITHOUT_OLD_ROWS.containsAll(wanted.operations())) {
			throw refused(table, whyRowsAreNotIdentified(table));
		}
		if (!wanted.columns().isEmpty() && !table.hasWholeRows()) {
			throw refused(table, table.isPartitioned()
					? "has partitions, so the stream of changes does not tell which columns have changed. "
							+ "Listen without columns."
					: "does not send old rows whole, so it is not known which columns have changed. Run: alter table "
							+ table.quoted() + " replica identity full; or listen without columns.");
		}
		if (table.partial()) {
			throw refused(table, "is published with only some of its rows or columns. Run: alter publication "
					+ names.of(insertOnly) + " drop table " + table.quoted() + "; pgbus then adds it whole.");
		}
		if (!table.owned() && !(insertOnly ? table.inInserts() : table.inAll())) {
			throw refused(table,
					("belongs to the role %s and is not in the publication %s. Run as that role and owner of "
							+ "the publication: alter publication %s add table only %s;")
						.formatted(table.owner(), names.of(insertOnly), names.of(insertOnly), table.quoted()));
		}
		return insertOnly;
	}

	private static void checkKind(TableFacts table, String busSchema) {
		if (table.kind() != 'r' && table.kind() != 'p') {
			throw refused(table, "is " + KINDS.getOrDefault(table.kind(), "not a table")
					+ ", whose changes are not in the write-ahead log. Listen to a table.");
		}
		if (table.system() || table.schema().equals(busSchema)) {
			throw refused(table,
					"belongs to " + (table.system() ? "PostgreSQL" : "the bus") + " itself. Listen to another table.");
		}
		if (table.persistence() != 'p') {
			boolean unlogged = table.persistence() == 'u';
			throw refused(table, "is " + (unlogged ? "unlogged" : "temporary")
					+ ", so its changes are not in the write-ahead log. "
					+ (unlogged ? "Run: alter table " + table.quoted() + " set logged;" : "Listen to another table."));
		}
		if (table.partitionOf() != null) {
			throw refused(table, "is a partition, whose changes come as those of " + table.partitionOf()
					+ ". Listen to " + table.partitionOf() + ", with a filter if need be.");
		}
	}

	private static String whyRowsAreNotIdentified(TableFacts table) {
		String name = table.quoted();
		String inserts = " or listen to inserts only.";
		if (table.isPartitioned()) {
			if (table.identity() != 'd') {
				return "has partitions, which do not inherit its replica identity. Run: alter table " + name
						+ " replica identity default;" + inserts;
			}
			if (!table.primaryKey()) {
				return "has partitions and no primary key that is checked at once, so its updates and deletes would "
						+ "fail once they are published. Run: alter table " + name + " add primary key (...);"
						+ inserts;
			}
			return "has the partition " + table.badPartition() + ", whose replica identity is neither its primary "
					+ "key nor full. Run: alter table " + table.badPartition() + " replica identity default;" + inserts;
		}
		return switch (table.identity()) {
			case 'd' -> "has no primary key that is checked at once, so its updates and deletes would fail once they "
					+ "are published. Run: alter table " + name + " add primary key (...); or: alter table " + name
					+ " replica identity full;" + inserts;
			case 'i' -> "has a replica identity by an index that is gone or not valid, so its updates and deletes "
					+ "would fail once they are published. Run: alter table " + name + " replica identity default;"
					+ inserts;
			default -> "has the replica identity \"nothing\", so its updates and deletes would fail once they are "
					+ "published. Run: alter table " + name + " replica identity default;" + inserts;
		};
	}

	private static PgBusException refused(TableFacts table, String why) {
		return new PgBusException("A table listener cannot have the table " + table.quoted() + ": it " + why);
	}

}
