package io.pgbus.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import io.pgbus.BackfillInfo;
import io.pgbus.BackfillRequest;
import io.pgbus.TableOperation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Chunks of backfills, as workers claim them, lose them and take them over.
 */
class ChunkStoreIntegrationTests {

	private final CaptureBed bed = new CaptureBed();

	@AfterEach
	void close() {
		this.bed.close();
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '~', textBlock = """
			bigint             | -9223372036854775808, -5, 0, 7, 9223372036854775807
			numeric            | -1e-30, 0, 1.5, 1.50001, 99999999999999999999.5
			date               | -infinity, 4713-01-01 BC, 0044-03-15 BC, 2024-02-29, infinity
			timestamptz        | 0044-03-15 01:02:03+00 BC, 2024-02-29 12:34:56.789012+05:30, 2024-02-29 13:00:00+05:30
			double precision   | -Infinity, -0.1, 5e-324, 1.7976931348623157e308, Infinity, NaN
			uuid               | 00000000-0000-0000-0000-000000000001, a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11
			text               | ' ', a, B, b, Ä, z, 'a"b', a?b, a:b
			text collate "C"   | B, a, b, z, Ä
			char(4)            | a, ab, abcd
			bytea              | \\x00, \\x00ff, \\xff
			interval           | -1 day, 00:00:01, 1 mon, 40 days
			mood               | sad, ok, happy
			positive           | 1, 2, 10, 11
			boolean            | false, true
			""")
	void keysOfAllSortsAreReadOnceAndInOrder(String type, String keys) {
		this.bed.jdbc.sql("create type mood as enum ('sad', 'ok', 'happy')").update();
		this.bed.jdbc.sql("create domain positive as integer check (value > 0)").update();
		this.bed.jdbc.sql("create table item (id " + type + " primary key)").update();
		List<String> values = new ArrayList<>(Arrays.stream(keys.split(", ")).map(String::trim).toList());
		java.util.Collections.shuffle(values);
		String plain = type.replace(" collate \"C\"", "");
		values.forEach((value) -> this.bed.jdbc.sql("insert into item values (?::" + plain + ")")
			.param(value.replace("'", ""))
			.update());
		int groupId = this.bed.subscribe("g", "item", null, TableOperation.INSERT);
		List<StoredEvent> read = new BackfillBed(this.bed, 1).read(groupId, "g", "item");
		assertThat(read).extracting(StoredEvent::key)
			.containsExactlyElementsOf(this.bed.database.ownTransaction().execute((status) -> {
				this.bed.database.own(RowSql.settings(0)).query().listOfRows();
				return this.bed.database.own("select jsonb_build_array(id)::text from item order by id")
					.query(String.class)
					.list();
			}));
	}

	@Test
	void compositeKeysAreReadInTheirOrder() {
		this.bed.jdbc.sql("create table item (n int, name text collate \"C\", day date, primary key (name, n, day))")
			.update();
		this.bed.jdbc.sql("""
				insert into item select n, name, day
				from generate_series(-2, 3) n, unnest(array['', 'a', 'B', '{']) name,
					unnest(array['0044-03-15 BC', '2024-01-01']::date[]) day""").update();
		int groupId = this.bed.subscribe("g", "item", null, TableOperation.INSERT);
		List<StoredEvent> read = new BackfillBed(this.bed, 5).read(groupId, "g", "item");
		assertThat(read).extracting(StoredEvent::key)
			.containsExactlyElementsOf(
					this.bed.jdbc.sql("select jsonb_build_array(name, n, day)::text from item order by name, n, day")
						.query(String.class)
						.list());
	}

	@Test
	void aChunkEndsAtABoundOfBytes() {
		this.bed.jdbc.sql("create table item (id int primary key, text text)").update();
		this.bed.jdbc.sql("insert into item select n, repeat('x', n * 100) from generate_series(1, 30) n").update();
		int groupId = this.bed.subscribe("g", "item", null, TableOperation.INSERT);
		BackfillBed backfill = new BackfillBed(this.bed, 10, 1000);
		assertThat(backfill.read(groupId, "g", "item")).hasSize(30);
		assertThat(this.bed.jdbc.sql("select max(rows) from pgbus.backfill_chunk").query(Integer.class).single())
			.isEqualTo(3);
	}

	@Test
	void aChunkThatIsTakenOverEndsAtTheRowDoneLastAndLaterChangesOfItsRowsStay() {
		BackfillBed backfill = items(6);
		int groupId = this.bed.subscribe("g", "item", null, TableOperation.UPDATE);
		long id = backfill.backfills.start("g", BackfillRequest.of("item")).id();
		Holder first = backfill.worker();
		ChunkStore chunks = backfill.chunks(groupId);
		Chunk chunk = chunks.claim(first, List.of());
		assertThat(chunk).isNotNull();
		assertThat(chunk.events()).hasSize(6);
		backfill.done(chunk, first, 1);
		backfill.done(chunk, first, 2);
		String change = update("id in (1, 5)");
		backfill.lose(first);
		Chunk rest = chunks.claim(backfill.worker(), List.of());
		assertThat(rest).isNotNull();
		assertThat(rest.events()).extracting(StoredEvent::key).containsExactly("[3]", "[4]", "[5]", "[6]");
		assertThat(backfill.record(rest.events().get(2))).contains("changed");
		assertThat(chunks.finish(chunk)).isNull();
		assertThat(chunks.finish(rest)).isTrue();
		assertThat(backfill.backfills.find(id).orElseThrow().rowsRead()).isEqualTo(6);
		assertThat(backfill.getsChange(groupId, "item", "[1]", change, "update")).isTrue();
		assertThat(backfill.getsChange(groupId, "item", "[5]", change, "update")).isFalse();
	}

	@Test
	void aRowThatTheQueryDoesNotYieldKeepsItsChanges() {
		BackfillBed backfill = items(6);
		int groupId = this.bed.subscribe("g", "item", null, TableOperation.UPDATE);
		String change = update("id in (1, 2)");
		backfill.backfills.start("g", BackfillRequest.of("item").query("select * from item where id <> 2"));
		assertThat(backfill.readAll(backfill.chunks(groupId))).hasSize(5);
		assertThat(backfill.getsChange(groupId, "item", "[1]", change, "update")).isFalse();
		assertThat(backfill.getsChange(groupId, "item", "[2]", change, "update")).isTrue();
		assertThat(backfill.getsChange(groupId, "item", "[1]", update("id = 1"), "update")).isTrue();
		assertThat(backfill.getsChange(groupId, "item", "*", change, "truncate")).isFalse();
	}

	@Test
	void anUndoneChunkIsReadAgainAsAWholeAndWithWhatIsThereByThen() {
		BackfillBed backfill = items(3);
		int groupId = this.bed.subscribe("g", "item", null, TableOperation.UPDATE);
		backfill.backfills.start("g", BackfillRequest.of("item"));
		Holder first = backfill.worker();
		ChunkStore chunks = backfill.chunks(groupId);
		assertThat(chunks.claim(first, List.of())).isNotNull();
		this.bed.jdbc.sql("insert into item select n, 'more' from generate_series(10, 30) n").update();
		backfill.lose(first);
		assertThat(backfill.readAll(chunks)).hasSize(24).extracting(StoredEvent::key).doesNotHaveDuplicates();
	}

	@Test
	void aChunkWaitsForATransactionOfItsFormerOwner() {
		BackfillBed backfill = items(3);
		int groupId = this.bed.subscribe("g", "item", null, TableOperation.UPDATE);
		backfill.backfills.start("g", BackfillRequest.of("item"));
		Holder first = backfill.worker();
		ChunkStore chunks = backfill.chunks(groupId);
		Chunk chunk = chunks.claim(first, List.of());
		assertThat(chunk).isNotNull();
		this.bed.database.alone(() -> {
			assertThat(new Ledger(this.bed.database).enter(chunk.next(3), first, List.of(1L))).isTrue();
			backfill.lose(first);
			assertThat(chunks.claim(backfill.worker(), List.of())).isNull();
			return true;
		});
		Chunk rest = chunks.claim(backfill.worker(), List.of());
		assertThat(rest).isNotNull();
		assertThat(rest.events()).extracting(StoredEvent::key).containsExactly("[2]", "[3]");
	}

	@Test
	void aBackfillThatHasNotEndedStartsAgainWhenChangesWereMissed() {
		BackfillBed backfill = items(25);
		int groupId = this.bed.subscribe("g", "item", null, TableOperation.UPDATE);
		long id = backfill.backfills.start("g", BackfillRequest.of("item")).id();
		ChunkStore chunks = backfill.chunks(groupId);
		Chunk first = chunks.claim(backfill.worker(), List.of());
		assertThat(first).isNotNull();
		assertThat(chunks.finish(first)).isFalse();
		Chunk second = chunks.claim(backfill.worker(), List.of());
		assertThat(second).isNotNull();
		this.bed.capture.resume(this.bed.checkpoint(), "lost", "test", "slot", "1", 1L << 41);
		assertThat(backfill.backfills.find(id).orElseThrow().state()).isEqualTo(BackfillInfo.State.WAITING);
		assertThat(chunks.claim(backfill.worker(), List.of())).isNull();
		assertThat(backfill.backfills.find(id).orElseThrow().error()).contains("last run");
		assertThat(chunks.finish(second)).isFalse();
		assertThat(backfill.readAll(chunks)).hasSize(25);
		assertThat(backfill.backfills.find(id).orElseThrow().state()).isEqualTo(BackfillInfo.State.DONE);
	}

	private BackfillBed items(int count) {
		this.bed.jdbc.sql("create table item (id bigint primary key, name text)").update();
		this.bed.jdbc.sql("insert into item select n, 'old' from generate_series(1, ?) n").param(count).update();
		return new BackfillBed(this.bed, 10);
	}

	/** Updates rows and returns the xid. */
	private String update(String condition) {
		return this.bed.jdbc
			.sql("update item set name = 'changed' where " + condition + " returning pg_current_xact_id()::text")
			.query(String.class)
			.list()
			.get(0);
	}

}
