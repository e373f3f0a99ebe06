package io.pgbus.replication;

import java.util.List;

import io.pgbus.replication.CaptureBus.Captured;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

/**
 * All changes of a row have one key, whatever the server tells of old rows.
 */
class ReplicaIdentityIntegrationTests {

	private final CaptureBus bus = new CaptureBus();

	@AfterEach
	void close() {
		this.bus.close();
	}

	@Test
	void anIndexWithoutThePrimaryKeyIsTheKey() {
		assertThat(changes("unique (code)", "items_code_key")).extracting(Captured::type, Captured::key)
			.containsExactly(tuple("insert", "[\"a\"]"), tuple("update", "[\"a\"]"), tuple("delete", "[\"a\"]"),
					tuple("insert", "[\"b\"]"), tuple("delete", "[\"b\"]"));
	}

	@Test
	void anIndexWithPartOfThePrimaryKeyIsTheKey() {
		assertThat(changes("unique (code, id)", "items_code_id_key")).extracting(Captured::type, Captured::key)
			.containsExactly(tuple("insert", "[1, \"a\"]"), tuple("update", "[1, \"a\"]"),
					tuple("delete", "[1, \"a\"]"), tuple("insert", "[1, \"b\"]"), tuple("delete", "[1, \"b\"]"));
	}

	@Test
	void ofAnIndexWithAllOfThePrimaryKeyThePrimaryKeyIsTheKey() {
		assertThat(changes("unique (code, part, id)", "items_code_part_id_key"))
			.extracting(Captured::type, Captured::key)
			.containsExactly(tuple("insert", "[1, 7]"), tuple("update", "[1, 7]"), tuple("update", "[1, 7]"),
					tuple("delete", "[1, 7]"));
	}

	@Test
	void aWholeOldRowHasThePrimaryKey() {
		this.bus.run("create table items (id int, part int, code text, note text, primary key (id, part))",
				"alter table items replica identity full");
		assertThat(change()).extracting(Captured::type, Captured::key)
			.containsExactly(tuple("insert", "[1, 7]"), tuple("update", "[1, 7]"), tuple("update", "[1, 7]"),
					tuple("delete", "[1, 7]"));
	}

	private List<Captured> changes(String constraint, String index) {
		this.bus.run("create table items (id int, part int, code text not null, note text, primary key (id, part), "
				+ constraint + ")", "alter table items replica identity using index " + index);
		return change();
	}

	/** Changes a row, then its code, and deletes it. */
	private List<Captured> change() {
		this.bus.run("create table last (id int primary key)");
		this.bus.listen("items", "last");
		this.bus.capturing();
		this.bus.run("insert into items values (1, 7, 'a', 'new')", "update items set note = 'old'",
				"update items set code = 'b'", "delete from items", "insert into last values (1)");
		await().until(() -> this.bus.events().stream().anyMatch((event) -> event.stream().endsWith(".last")));
		return this.bus.events().stream().filter((event) -> !event.stream().endsWith(".last")).toList();
	}

}
