package io.pgbus.replication;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.pgbus.store.TypeCases;
import io.pgbus.store.TypeCases.TypeCase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * From the server's own stream of changes to the log: each value of each type arrives as
 * {@code to_jsonb} makes it of the row. One table has a column for each type, which is
 * called like it.
 */
class StreamedTypesIntegrationTests {

	/**
	 * Defaults that would give values another text, if the capture did not set its own.
	 */
	private static final List<String> HOSTILE = List.of("TimeZone = 'Asia/Kolkata'", "DateStyle = 'SQL, DMY'",
			"IntervalStyle = 'sql_standard'", "bytea_output = 'escape'", "extra_float_digits = -10",
			"xmloption = 'document'", "search_path = 'two', 'public'");

	private static final String CELLS = """
			select cell.key || ' = ' || left(cell.value::text, 1000) || md5(cell.value::text)
			from unnest(?::text[]) with ordinality as r(json, n), jsonb_each(r.json::jsonb) cell
			order by r.n, cell.key
			""";

	private CaptureBus bus;

	private List<TypeCase> cases;

	private int rows;

	@BeforeEach
	void create() {
		this.bus = new CaptureBus();
		this.bus.run(TypeCases.TYPES);
		this.cases = new ArrayList<>(TypeCases.all());
		TypeCases.ofExtensions().stream().filter((each) -> isAvailable(each.type())).forEach((each) -> {
			this.bus.run("create extension " + each.type());
			this.cases.add(each);
		});
		this.cases.add(new TypeCase("text collate \"C\"", List.of("repeat('0123456789 äöü', 100000)")));
		this.rows = this.cases.stream().mapToInt((each) -> each.values().size()).max().orElseThrow();
		this.bus.run(this.cases.stream()
			.map((each) -> quote(each.type()) + " " + each.type())
			.collect(Collectors.joining(", ", "create table typed (id int primary key, marker int, ", ")")));
		this.bus.run("alter table typed replica identity full");
		this.bus.listen("typed");
	}

	@AfterEach
	void close() {
		this.bus.close();
	}

	@Test
	void eachValueArrivesAsTheRowHasItWithInsertUpdateAndDelete() {
		HOSTILE.forEach((setting) -> this.bus.run("alter database " + this.bus.database.name() + " set " + setting));
		this.bus.capturing();
		for (int row = 0; row < this.rows; row++) {
			insert(row);
		}
		this.bus.run("insert into typed (id) values (" + (this.rows + 1) + ")");
		int all = this.rows + 1;
		List<String> inserted = TypeCases.json(this.bus.bus, "typed");
		// each row becomes like the next one
		this.bus.run("update typed t set " + Stream.concat(Stream.of("marker"), this.cases.stream().map(TypeCase::type))
			.map((column) -> quote(column) + " = s." + quote(column))
			.collect(Collectors.joining(", ")) + " from typed s where s.id = t.id % " + all + " + 1");
		List<String> updated = TypeCases.json(this.bus.bus, "typed");
		// what is stored apart from its row is not written to the log again
		this.bus.run("update typed set marker = 1");
		List<String> marked = TypeCases.json(this.bus.bus, "typed");
		this.bus.run("delete from typed");
		this.bus.awaitEvents(4 * all);
		assertThat(inserted).hasSize(all).isNotEqualTo(updated);
		assertThat(cells(parts("insert", "record"))).isEqualTo(cells(inserted));
		List<String> records = parts("update", "record");
		List<String> previous = parts("update", "previous");
		assertThat(records).hasSize(2 * all);
		assertThat(cells(previous.subList(0, all))).isEqualTo(cells(inserted));
		assertThat(cells(records.subList(0, all))).isEqualTo(cells(updated));
		assertThat(cells(previous.subList(all, 2 * all))).isEqualTo(cells(updated));
		assertThat(cells(records.subList(all, 2 * all))).isEqualTo(cells(marked));
		assertThat(cells(parts("delete", "previous"))).isEqualTo(cells(marked));
		assertThat(this.bus.jdbc
			.sql("select count(*) from pgbus.event where payload ?? 'unavailable' or payload ?? 'refetched'")
			.query(Long.class)
			.single()).isZero();
	}

	private boolean isAvailable(String extension) {
		return this.bus.jdbc.sql("select exists (select from pg_available_extensions where name = ?)")
			.param(extension)
			.query(Boolean.class)
			.single();
	}

	/** Each type's value of that number, as far as there are so many. */
	private void insert(int number) {
		List<TypeCase> there = this.cases.stream().filter((each) -> each.values().size() > number).toList();
		this.bus.run("insert into typed (id, "
				+ there.stream().map((each) -> quote(each.type())).collect(Collectors.joining(", ")) + ") values ("
				+ (number + 1) + ", "
				+ there.stream().map((each) -> each.values().get(number)).collect(Collectors.joining(", ")) + ")");
	}

	private List<String> parts(String operation, String part) {
		return this.bus.jdbc.sql("""
				select (payload -> ?)::text from pgbus.event where type = ?
				order by (payload ->> 'lsn')::pg_lsn, (payload -> 'key' ->> 'id')::int""")
			.params(part, operation)
			.query(String.class)
			.list();
	}

	/** So that a difference names its type. */
	private List<String> cells(List<String> rows) {
		return this.bus.jdbc.sql(CELLS).param(rows.toArray(String[]::new)).query(String.class).list();
	}

	private static String quote(String name) {
		return '"' + name.replace("\"", "\"\"") + '"';
	}

}
