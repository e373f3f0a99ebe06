package io.pgbus.replication;

import java.sql.ResultSet;
import java.sql.SQLException;

import io.pgbus.store.PublishedTable;
import org.jspecify.annotations.Nullable;

/**
 * What the catalog says about a table, as far as it matters to a publication.
 *
 * @param id the table's oid
 * @param schema the name of its schema
 * @param name the name of the table
 * @param quoted the name with its schema, as SQL has it
 * @param kind what it is: {@code pg_class.relkind}
 * @param persistence whether it outlives a crash: {@code pg_class.relpersistence}
 * @param system whether it is one of PostgreSQL's own
 * @param partitionOf the quoted name of the table that it is a partition of
 * @param owned whether this role owns it, or has the owner's rights
 * @param owner the role that owns it
 * @param identity how old rows are identified: {@code pg_class.relreplident}
 * @param primaryKey whether it has a primary key that is checked at once
 * @param identityIndex whether the index that identifies old rows is there and valid
 * @param badPartition the quoted name of a partition whose old rows cannot be identified
 * as those of the table are
 * @param inAll whether it is in the publication of all operations
 * @param inInserts whether it is in the publication of inserts
 * @param partial whether a publication has only some of its rows or columns
 */
record TableFacts(int id, String schema, String name, String quoted, char kind, char persistence, boolean system,
		@Nullable String partitionOf, boolean owned, String owner, char identity, boolean primaryKey,
		boolean identityIndex, @Nullable String badPartition, boolean inAll, boolean inInserts, boolean partial) {

	/**
	 * The pg_index flags: only a primary key that is checked at once identifies rows. All
	 * partitions must send old rows as their root describes them: by the primary key, so
	 * not by another index. What a full identity sends has the key too.
	 */
	static final String SQL = """
			select c.oid, n.nspname, c.relname, format('%I.%I', n.nspname, c.relname) as quoted, c.relkind,
				c.relpersistence, c.oid < 16384 or n.nspname = 'information_schema' as system,
				(select format('%I.%I', pn.nspname, p.relname) from pg_inherits i
					join pg_class p on p.oid = i.inhparent join pg_namespace pn on pn.oid = p.relnamespace
					where i.inhrelid = c.oid and c.relispartition) as partition_of,
				pg_has_role(c.relowner, 'USAGE') as owned, pg_get_userbyid(c.relowner) as owner, c.relreplident,
				exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and i.indisvalid
					and i.indimmediate) as primary_key,
				exists (select from pg_index i where i.indrelid = c.oid and i.indisreplident and i.indisvalid
					and i.indimmediate) as identity_index,
				(select format('%I.%I', ln.nspname, l.relname) from pg_partition_tree(c.oid) t
					join pg_class l on l.oid = t.relid join pg_namespace ln on ln.oid = l.relnamespace
					where c.relkind = 'p' and t.isleaf and not (l.relreplident = 'f' or l.relreplident = 'd'
						and exists (select from pg_index i where i.indrelid = l.oid and i.indisprimary
							and i.indisvalid and i.indimmediate))
					order by l.oid limit 1) as bad_partition,
				exists (select from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
					where r.prrelid = c.oid and p.pubname = :all) as in_all,
				exists (select from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
					where r.prrelid = c.oid and p.pubname = :inserts) as in_inserts,
				exists (select from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
					where r.prrelid = c.oid and p.pubname in (:all, :inserts)
					and coalesce(to_jsonb(r) ->> 'prqual', to_jsonb(r) ->> 'prattrs') is not null) as partial
			from pg_class c join pg_namespace n on n.oid = c.relnamespace
			where c.oid = to_regclass(:name)
			""";

	static TableFacts read(ResultSet row, int index) throws SQLException {
		return new TableFacts((int) row.getLong("oid"), row.getString("nspname"), row.getString("relname"),
				row.getString("quoted"), row.getString("relkind").charAt(0), row.getString("relpersistence").charAt(0),
				row.getBoolean("system"), row.getString("partition_of"), row.getBoolean("owned"),
				row.getString("owner"), row.getString("relreplident").charAt(0), row.getBoolean("primary_key"),
				row.getBoolean("identity_index"), row.getString("bad_partition"), row.getBoolean("in_all"),
				row.getBoolean("in_inserts"), row.getBoolean("partial"));
	}

	PublishedTable published() {
		return new PublishedTable(this.id, this.schema, this.name, hasWholeRows());
	}

	boolean isPartitioned() {
		return this.kind == 'p';
	}

	/**
	 * Whether old rows come whole. Not for a partitioned table: its partitions do not
	 * inherit that, so a new one's old rows would have nulls for what is not known.
	 */
	boolean hasWholeRows() {
		return this.identity == 'f' && !isPartitioned();
	}

	/**
	 * Whether rows may be updated and deleted once the table is published with these
	 * operations.
	 */
	boolean identifiesRows() {
		if (isPartitioned()) {
			return this.identity == 'd' && this.primaryKey && this.badPartition == null;
		}
		return switch (this.identity) {
			case 'd' -> this.primaryKey;
			case 'i' -> this.identityIndex;
			case 'f' -> true;
			default -> false;
		};
	}

}
