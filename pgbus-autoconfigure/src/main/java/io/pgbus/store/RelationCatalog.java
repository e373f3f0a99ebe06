package io.pgbus.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

import io.pgbus.store.Relation.Column;
import org.jspecify.annotations.Nullable;

/**
 * What the database's catalog says about relations: the names of their types, and their
 * keys. It says so as of today, which may be later than the changes.
 */
final class RelationCatalog {

	/** Names from all other schemas come with their schema then. */
	private static final String NAMES = "select set_config('search_path', 'pg_catalog, pg_temp', true)";

	/**
	 * JSON is made from the type below all domains, whose constraints may be younger than
	 * a value. What is stored as a reference to a catalog row that may have another name
	 * by now, or be gone, is left as text: labels of enums and names of objects. Their
	 * JSON is that text. A type that is gone is text as well.
	 */
	private static final String TYPES = """
			with recursive
			base(n, type, modifier, depth) as (
				select w.n, w.type, w.modifier, 0
				from unnest(?::text[]::oid[], ?::integer[]) with ordinality as w(type, modifier, n)
				union all
				select b.n, t.typbasetype, t.typtypmod, b.depth + 1
				from base b join pg_type t on t.oid = b.type and t.typtype = 'd'
			),
			resolved as (
				select distinct on (b.n) b.n, b.type, b.modifier from base b order by b.n, b.depth desc
			),
			element(n, array_type, type, depth) as (
				select r.n, r.type, t.typelem, 0
				from resolved r join pg_type t on t.oid = r.type
				where t.typelem <> 0 and t.typsubscript = 'array_subscript_handler'::regproc
				union all
				select e.n, below.typarray, below.oid, e.depth + 1
				from element e
				join pg_type t on t.oid = e.type and t.typtype = 'd'
				join pg_type below on below.oid = t.typbasetype and below.typarray <> 0
			)
			select r.n,
				case
					when t.oid is null then 'text'
					when %1$s then 'text'
					when %2$s then 'text[]'
					when e.depth > 0 then format_type(e.array_type, -1)
					else format_type(r.type, r.modifier)
				end as stored,
				case when t.oid is null then 'text' else format_type(r.type, r.modifier) end as declared
			from resolved r
			left join pg_type t on t.oid = r.type
			left join lateral (select * from element e where e.n = r.n order by e.depth desc limit 1) e on true
			left join pg_type et on et.oid = e.type
			order by r.n
			""".formatted(isName("t"), isName("et"));

	private static final String KEYS = """
			select i.indrelid::text as relation, array(
				select a.attname::text
				from unnest(i.indkey) with ordinality as k(number, n)
				join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
				where k.n <= i.indnkeyatts
				order by k.n
			) as columns
			from pg_index i
			where i.indisprimary and i.indrelid = any(?::text[]::oid[])
			""";

	/**
	 * Of generated columns only stored ones can be in the stream of changes, from
	 * PostgreSQL 18 on, unless the publication that has the table is one without them.
	 */
	private static final String COLUMNS = """
			select a.attname::text as name, a.atttypid::bigint as type, a.atttypmod as modifier
			from pg_attribute a
			where a.attrelid = ?::text::oid and a.attnum > 0 and not a.attisdropped and (
				a.attgenerated = ''
				or a.attgenerated = 's' and current_setting('server_version_num')::integer >= 180000 and not exists (
					select from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
					where r.prrelid = a.attrelid and to_jsonb(p) ->> 'pubgencols' <> 's'
				)
			)
			order by a.attnum
			""";

	private static final int MAX_KNOWN = 1000;

	private final RoundTrip types;

	private final RoundTrip keys;

	private final RoundTrip columns;

	/**
	 * By identity: the stream describes a relation anew whenever something about it may
	 * have changed.
	 */
	private final IdentityHashMap<Relation, TypedRelation> known = new IdentityHashMap<>();

	RelationCatalog(BusDatabase database) {
		this.types = database.ownReadOnlyRoundTrip(NAMES, TYPES);
		this.keys = database.ownReadOnlyRoundTrip(NAMES, KEYS);
		this.columns = database.ownReadOnlyRoundTrip(COLUMNS);
	}

	private static String isName(String type) {
		return "(%1$s.typtype = 'e' or %1$s.typnamespace = 'pg_catalog'::regnamespace and %1$s.typname like 'reg%%')"
			.formatted(type);
	}

	/**
	 * Looks relations up, all in one go.
	 * @param relations the relations
	 */
	void describe(Collection<Relation> relations) {
		List<Relation> unknown = relations.stream().filter((relation) -> !this.known.containsKey(relation)).toList();
		if (!unknown.isEmpty()) {
			if (this.known.size() > MAX_KNOWN) {
				this.known.clear();
				unknown = List.copyOf(relations);
			}
			look(unknown);
		}
	}

	/**
	 * Returns what is known of a relation.
	 * @param relation the relation, which was looked up
	 * @return the typed relation
	 */
	TypedRelation get(Relation relation) {
		return Objects.requireNonNull(this.known.get(relation));
	}

	/**
	 * Looks a relation up again: a type of it may have been renamed.
	 * @param relation the relation
	 * @return the typed relation
	 */
	TypedRelation again(Relation relation) {
		look(List.of(relation));
		return get(relation);
	}

	/**
	 * Describes a table as the stream of changes would.
	 * @param table the table
	 * @return the relation
	 */
	Relation today(PublishedTable table) {
		return this.columns.run(List.of(Integer.toUnsignedString(table.id())), (row) -> {
			List<Column> columns = new ArrayList<>();
			while (row.next()) {
				columns.add(new Column(row.getString("name"), (int) row.getLong("type"), row.getInt("modifier"),
						table.wholeRows()));
			}
			return new Relation(table.id(), table.schema(), table.name(), table.wholeRows(), columns);
		});
	}

	private void look(List<Relation> relations) {
		Map<Integer, List<String>> primaryKeys = primaryKeys(relations);
		Map<TypeReference, TypedRelation.Type> names = typeNames(relations);
		for (Relation relation : relations) {
			List<TypedRelation.Type> columnTypes = new ArrayList<>();
			relation.columns().forEach((column) -> {
				TypedRelation.Type type = names.get(TypeReference.of(column));
				columnTypes.add((type != null) ? type : new TypedRelation.Type("text", "text"));
			});
			this.known.put(relation,
					new TypedRelation(relation, columnTypes, key(relation, primaryKeys.get(relation.id()))));
		}
	}

	/**
	 * The primary key, if old rows have it: a delete must have the same key as the
	 * insert. Else the replica identity, which then is an index.
	 */
	private static List<Integer> key(Relation relation, @Nullable List<String> primaryKey) {
		List<String> names = relation.columns().stream().map(Column::name).toList();
		if (primaryKey != null) {
			List<Integer> key = primaryKey.stream().map(names::indexOf).toList();
			if (key.stream()
				.allMatch((column) -> column >= 0
						&& (relation.wholeRows() || relation.columns().get(column).inIdentity()))) {
				return key;
			}
		}
		List<Integer> identity = new ArrayList<>();
		for (int i = 0; !relation.wholeRows() && i < names.size(); i++) {
			if (relation.columns().get(i).inIdentity()) {
				identity.add(i);
			}
		}
		return identity;
	}

	private Map<Integer, List<String>> primaryKeys(List<Relation> relations) {
		String[] ids = relations.stream()
			.map((relation) -> Integer.toUnsignedString(relation.id()))
			.distinct()
			.toArray(String[]::new);
		return this.keys.run(Arrays.asList((Object) ids), (row) -> {
			Map<Integer, List<String>> found = new HashMap<>();
			while (row.next()) {
				found.put(Integer.parseUnsignedInt(row.getString("relation")),
						List.of((String[]) row.getArray("columns").getArray()));
			}
			return found;
		});
	}

	private Map<TypeReference, TypedRelation.Type> typeNames(List<Relation> relations) {
		Set<TypeReference> distinct = new LinkedHashSet<>();
		relations.forEach((relation) -> relation.columns().forEach((column) -> distinct.add(TypeReference.of(column))));
		List<TypeReference> references = List.copyOf(distinct);
		String[] ids = references.stream()
			.map((reference) -> Integer.toUnsignedString(reference.id()))
			.toArray(String[]::new);
		Integer[] modifiers = references.stream().map(TypeReference::modifier).toArray(Integer[]::new);
		return this.types.run(List.of(ids, modifiers), (row) -> {
			Map<TypeReference, TypedRelation.Type> found = new HashMap<>();
			while (row.next()) {
				found.put(references.get(row.getInt("n") - 1),
						new TypedRelation.Type(row.getString("stored"), row.getString("declared")));
			}
			return found;
		});
	}

	private record TypeReference(int id, int modifier) {

		static TypeReference of(Column column) {
			return new TypeReference(column.typeId(), column.typeModifier());
		}

	}

}
