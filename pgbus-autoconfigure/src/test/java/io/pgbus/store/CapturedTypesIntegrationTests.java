package io.pgbus.store;

import java.util.ArrayList;
import java.util.List;

import io.pgbus.TableOperation;
import io.pgbus.store.RowChange.Row;
import io.pgbus.store.TypeCases.TypeCase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * The JSON of a captured row is what {@code to_jsonb} makes of the row itself.
 */
class CapturedTypesIntegrationTests {

	private static CaptureBed bed;

	@BeforeAll
	static void createTypes() {
		bed = new CaptureBed();
		bed.jdbc.sql(TypeCases.TYPES).update();
	}

	@AfterAll
	static void close() {
		bed.close();
	}

	@ParameterizedTest
	@MethodSource("io.pgbus.store.TypeCases#all")
	void jsonIsThatOfTheRow(TypeCase types) {
		check(types.type(), types.values());
	}

	@ParameterizedTest
	@MethodSource("io.pgbus.store.TypeCases#ofExtensions")
	void jsonOfAnExtensionsTypeIsThatOfTheRow(TypeCase types) {
		assumeTrue(bed.jdbc.sql("select exists (select from pg_available_extensions where name = ?)")
			.param(types.type())
			.query(Boolean.class)
			.single(), () -> "This server does not have the extension " + types.type());
		bed.jdbc.sql("create schema if not exists ext").update();
		bed.jdbc.sql("create extension if not exists " + types.type() + " schema ext").update();
		String type = "ext." + types.type();
		check(type, types.values());
		check(type + "[]", types.values().stream().map((value) -> "ARRAY[" + value + "::" + type + "]").toList());
	}

	@Test
	void jsonOfALargeTextIsThatOfTheRow() {
		check("text", List.of("repeat('0123456789 äöü', 500000)"));
	}

	private void check(String type, List<String> values) {
		bed.jdbc.sql("drop table if exists typed").update();
		bed.forget("typed");
		bed.jdbc
			.sql("create table typed (id int primary key generated always as identity, value " + type
					+ ", \"other Value\" " + type + ")")
			.update();
		bed.jdbc.sql("alter table typed replica identity full").update();
		for (String value : values) {
			bed.jdbc.sql("insert into typed (value) values (" + value + ")").update();
		}
		bed.jdbc.sql("insert into typed default values").update();
		bed.jdbc.sql("update typed set \"other Value\" = value where id % 2 = 0").update();
		int groupId = bed.subscribe("g", "typed", null, TableOperation.values());
		List<Row> rows = bed.rows("typed", "true order by id");
		List<RowChange> changes = new ArrayList<>();
		rows.forEach((row) -> changes.add(bed.insert("typed", row)));
		rows.forEach((row) -> changes.add(bed.update("typed", row, row)));
		rows.forEach((row) -> changes.add(bed.delete("typed", row)));
		bed.append(changes);
		List<String> expected = TypeCases.json(bed.database, "typed");
		assertThat(expected).hasSameSizeAs(rows);
		assertThat(json("record", "insert")).isEqualTo(expected);
		BackfillBed backfill = new BackfillBed(bed, 3);
		assertThat(backfill.read(groupId, "g", "typed")).extracting(backfill::record).isEqualTo(expected);
		assertThat(json("record", "update")).isEqualTo(expected);
		assertThat(json("previous", "update")).isEqualTo(expected);
		assertThat(json("previous", "delete")).isEqualTo(expected);
		assertThat(bed.jdbc.sql("select count(*) from pgbus.event where jsonb_exists(payload, 'unavailable')")
			.query(Long.class)
			.single()).isZero();
		bed.events();
	}

	private List<String> json(String part, String operation) {
		return bed.jdbc
			.sql("select (payload -> '" + part + "')::text from pgbus.event where type = '" + operation
					+ "' order by id")
			.query(String.class)
			.list();
	}

}
