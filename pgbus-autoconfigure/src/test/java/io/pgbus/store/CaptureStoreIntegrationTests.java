package io.pgbus.store;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

import io.pgbus.ListenedTable;
import io.pgbus.TableOperation;
import io.pgbus.store.RowChange.Row;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static io.pgbus.TableOperation.DELETE;
import static io.pgbus.TableOperation.GAP;
import static io.pgbus.TableOperation.INSERT;
import static io.pgbus.TableOperation.TRUNCATE;
import static io.pgbus.TableOperation.UPDATE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * What is appended for which change.
 */
class CaptureStoreIntegrationTests {

	private final CaptureBed bed = new CaptureBed();

	@AfterEach
	void close() {
		this.bed.close();
	}

	private void orders(String identity) {
		this.bed.jdbc.sql("create table orders (id int primary key, status text, total numeric)").update();
		this.bed.jdbc.sql("alter table orders replica identity " + identity).update();
	}

	private Row order(int id, String status, String total) {
		this.bed.jdbc.sql("truncate orders").update();
		this.bed.jdbc.sql("insert into orders values (?, ?, ?::numeric)").params(id, status, total).update();
		return this.bed.rows("orders", "true").get(0);
	}

	private List<String> told() {
		return this.bed.events().stream().map((event) -> event.type() + event.key() + event.headers()).toList();
	}

	@Test
	void aChangeIsAppendedOnceForAllGroupsThatWantIt() {
		orders("default");
		int all = this.bed.subscribe("all", "orders", null, INSERT);
		int open = this.bed.subscribe("open", "orders", "orders.status = 'open' and total > 10", INSERT);
		this.bed.subscribe("none", "orders", "status = 'never'", INSERT);
		CaptureStore.Appended appended = this.bed.append(this.bed.insert("orders", order(42, "open", "10.50")));
		assertThat(appended.events()).isEqualTo(1);
		assertThat(appended.streamIds()).hasSize(1);
		CaptureBed.Event event = this.bed.events().get(0);
		assertThat(event.headers()).isEqualTo("{\"group-%d\": \"in\", \"group-%d\": \"in\"}".formatted(all, open));
		assertThat(event.stream()).isEqualTo("table:public.orders");
		assertThat(event.key()).isEqualTo("[42]");
		assertThat(event.payload()).contains("\"record\": {\"id\": 42, \"total\": 10.50, \"status\": \"open\"}")
			.contains("\"table\": \"public.orders\"")
			.contains("\"key\": {\"id\": 42}")
			.contains("\"committedAt\": \"1970-01-01T00:00:00Z\"")
			.contains("\"lsn\": \"100/0\"")
			.contains("\"xid\": \"3\"")
			.contains("\"ordinal\": 1")
			.doesNotContain("previous", "unavailable", "changed");
	}

	@Test
	void nothingIsAppendedThatNoGroupWants() {
		orders("default");
		this.bed.subscribe("g", "orders", "status = 'open'", INSERT, UPDATE);
		Row paid = order(1, "paid", "1");
		assertThat(this.bed
			.append(this.bed.insert("orders", paid), this.bed.update("orders", paid, null),
					this.bed.delete("orders", this.bed.identity("orders", paid)))
			.events()).isZero();
		assertThat(this.bed.checkpoint().position().ordinal()).isEqualTo(CapturePosition.WHOLE);
	}

	@Test
	void aRowThatLeavesAFilterIsToldIfTheOldRowIsWhole() {
		orders("full");
		int group = this.bed.subscribe("g", "orders", "status = 'open'", UPDATE, DELETE);
		Row open = order(1, "open", "1");
		Row paid = order(1, "paid", "1");
		this.bed.append(this.bed.update("orders", open, paid), this.bed.update("orders", paid, open),
				this.bed.update("orders", paid, paid), this.bed.delete("orders", open),
				this.bed.delete("orders", paid));
		List<CaptureBed.Event> events = this.bed.events();
		assertThat(events).extracting((event) -> event.type() + event.headers())
			.containsExactly("update{\"group-%d\": \"in\"}".formatted(group),
					"update{\"group-%d\": \"leaves\"}".formatted(group),
					"delete{\"group-%d\": \"in\"}".formatted(group));
		assertThat(events.get(1).payload()).contains("\"record\": {\"id\": 1, \"total\": 1, \"status\": \"paid\"}")
			.contains("\"previous\": {\"id\": 1, \"total\": 1, \"status\": \"open\"}")
			.contains("\"changed\": [\"status\"]");
	}

	@Test
	void withoutTheOldRowADeleteIsToldWhateverTheFilter() {
		orders("default");
		this.bed.subscribe("g", "orders", "status = 'open'", UPDATE, DELETE);
		Row paid = order(1, "paid", "1");
		this.bed.append(this.bed.update("orders", paid, null),
				this.bed.delete("orders", this.bed.identity("orders", paid)));
		List<CaptureBed.Event> events = this.bed.events();
		assertThat(events).extracting(CaptureBed.Event::type).containsExactly("delete");
		assertThat(events.get(0).payload()).contains("\"previous\": {\"id\": 1}").doesNotContain("unavailable");
	}

	@Test
	void anUpdateMustHaveChangedOneOfTheColumns() {
		orders("full");
		this.bed.subscribe("g", "orders", ListenedTable.of("orders").columns("status", "id"));
		Row first = order(1, "open", "1");
		this.bed.append(this.bed.update("orders", order(1, "open", "2"), first),
				this.bed.update("orders", order(1, "paid", "2"), first), this.bed.insert("orders", first));
		assertThat(this.bed.events()).extracting(CaptureBed.Event::type).containsExactly("update", "insert");
	}

	@Test
	void aKeyThatChangesIsADeleteAndAnInsert() {
		orders("default");
		int inserts = this.bed.subscribe("inserts", "orders", null, INSERT);
		int updates = this.bed.subscribe("updates", "orders", null, UPDATE);
		int deletes = this.bed.subscribe("deletes", "orders", "status = 'never'", DELETE);
		Row old = this.bed.identity("orders", order(41, "open", "1"));
		this.bed.append(this.bed.update("orders", order(42, "open", "1"), old));
		List<CaptureBed.Event> events = this.bed.events();
		assertThat(events).extracting((event) -> event.type() + event.key() + event.headers())
			.containsExactly("delete[41]{\"group-%d\": \"in\"}".formatted(deletes),
					"insert[42]{\"group-%d\": \"in\", \"group-%d\": \"in\"}".formatted(inserts, updates));
		assertThat(events.get(0).payload()).contains("\"movedTo\": {\"id\": 42}", "\"key\": {\"id\": 41}");
		assertThat(events.get(1).payload()).contains("\"movedFrom\": {\"id\": 41}", "\"key\": {\"id\": 42}");
	}

	@Test
	void aTruncateAndAGapAreToldToThoseWhoAskForThem() {
		orders("default");
		int group = this.bed.subscribe("g", "orders", "false", TRUNCATE, GAP);
		this.bed.subscribe("other", "orders", null, INSERT);
		this.bed.append(this.bed.change(TRUNCATE, "orders", null, null));
		assertThat(told()).containsExactly("truncate*{\"group-%d\": \"in\"}".formatted(group));
		CaptureStore.Appended resumed = this.bed.capture.resume(this.bed.checkpoint(), "the slot is lost", "me", "new",
				"2", 1L << 50);
		assertThat(resumed.events()).isEqualTo(1);
		assertThat(told()).containsExactly("gap*{\"group-%d\": \"in\"}".formatted(group));
		assertThat(this.bed.capture.read()).isEqualTo(resumed.checkpoint());
		assertThat(resumed.checkpoint().slot()).isEqualTo("new");
		this.bed.capture.recordGap(resumed.checkpoint(), "again");
		this.bed.capture.recordGap(resumed.checkpoint(), "again");
		assertThat(this.bed.capture.gaps()).extracting(CaptureGap::reason).containsExactly("again", "the slot is lost");
	}

	@Test
	void aFilterThatFailsOnARowTouchesNoOtherRowAndNoOtherGroup() {
		orders("default");
		int bad = this.bed.subscribe("bad", "orders", "100 / total > 10", INSERT);
		int good = this.bed.subscribe("good", "orders", "total >= 0", INSERT);
		List<RowChange> changes = new ArrayList<>();
		for (int i = 0; i < 9; i++) {
			changes.add(this.bed.insert("orders", order(i, "x", (i == 4) ? "0" : "5")));
		}
		this.bed.append(changes);
		List<CaptureBed.Event> events = this.bed.events();
		assertThat(events).extracting(CaptureBed.Event::key)
			.containsExactly(IntStream.range(0, 9).mapToObj((i) -> "[" + i + "]").toArray(String[]::new));
		for (int i = 0; i < 9; i++) {
			assertThat(events.get(i).headers()).contains("\"group-" + good + "\": \"in\"");
			assertThat(events.get(i).headers())
				.contains("\"group-" + bad + "\": \"" + ((i == 4) ? "error: ERROR: division by zero" : "in") + "\"");
		}
	}

	@Test
	void aValueThatCannotBeConvertedIsUnavailableAndAFilterOnItIsAnError() {
		this.bed.jdbc.sql("create table docs (id int primary key, doc json, note text)").update();
		int all = this.bed.subscribe("all", "docs", "note = 'n'", INSERT);
		int some = this.bed.subscribe("some", "docs", "doc ->> 'a' = '1'", INSERT);
		this.bed.jdbc.sql("""
				insert into docs values (1, '{"a": 1}', 'n'), (2, '{"a": "\\u0000"}', 'n'), (3, '{"a": 2}', 'n')""")
			.update();
		List<RowChange> changes = new ArrayList<>();
		this.bed.rows("docs", "true").forEach((row) -> changes.add(this.bed.insert("docs", row)));
		this.bed.append(changes);
		List<CaptureBed.Event> events = this.bed.events();
		assertThat(events).extracting(CaptureBed.Event::headers)
			.satisfiesExactly(
					(first) -> assertThat(first).contains("\"group-" + all + "\": \"in\"",
							"\"group-" + some + "\": \"in\""),
					(second) -> assertThat(second).contains("\"group-" + all + "\": \"in\"",
							"\"group-" + some
									+ "\": \"error: the value of a column is not in the stream of changes: doc"),
					(third) -> assertThat(third).contains("\"group-" + all + "\": \"in\"")
						.doesNotContain("group-" + some));
		assertThat(events.get(1).payload()).contains("\"unavailable\": [\"doc\"]",
				"\"record\": {\"id\": 2, \"note\": \"n\"}");
	}

	@Test
	void aLargeUnchangedValueIsReadFromTheRowIfItIsStillThatRow() {
		this.bed.jdbc.sql("create table docs (id int primary key, doc text, n int)").update();
		int group = this.bed.subscribe("g", "docs", "length(doc) > 3", UPDATE);
		this.bed.jdbc.sql("insert into docs values (1, 'large', 1), (2, 'large', 1)").update();
		List<Row> rows = this.bed.rows("docs", "true order by id");
		int xid = this.bed.jdbc.sql("select xmin::text::bigint from docs where id = 1").query(Integer.class).single();
		CapturePosition position = this.bed.position(1);
		RowChange first = new RowChange(UPDATE, this.bed.relation("docs"), CaptureBed.unchanged(rows.get(0), 1), null,
				position, xid, Instant.EPOCH);
		RowChange second = new RowChange(UPDATE, this.bed.relation("docs"), CaptureBed.unchanged(rows.get(1), 1), null,
				position, 3, Instant.EPOCH);
		this.bed.append(first, second);
		List<CaptureBed.Event> events = this.bed.events();
		assertThat(events.get(0).payload()).contains("\"doc\": \"large\"", "\"refetched\": [\"doc\"]");
		assertThat(events.get(0).headers()).isEqualTo("{\"group-" + group + "\": \"in\"}");
		assertThat(events.get(1).payload()).contains("\"unavailable\": [\"doc\"]").doesNotContain("refetched", "large");
		assertThat(events.get(1).headers())
			.contains("error: the value of a column is not in the stream of changes: doc");
	}

	@Test
	void aLargeUnchangedValueIsNotReadIfALaterChangeOfTheTransactionMayHaveSetIt() {
		this.bed.jdbc.sql("create table docs (id int primary key, doc text, n int)").update();
		this.bed.subscribe("g", "docs", null, UPDATE);
		this.bed.jdbc.sql("insert into docs values (1, 'later', 1)").update();
		Row row = this.bed.rows("docs", "true").get(0);
		int xid = this.bed.jdbc.sql("select xmin::text::bigint from docs where id = 1").query(Integer.class).single();
		Relation docs = this.bed.relation("docs");
		CapturePosition position = this.bed.position(1);
		RowChange without = new RowChange(UPDATE, docs, CaptureBed.unchanged(row, 1), null, position, xid,
				Instant.EPOCH);
		RowChange with = new RowChange(UPDATE, docs, row, null, position, xid, Instant.EPOCH);
		this.bed.append(without, with, without, without);
		assertThat(this.bed.events()).extracting((event) -> event.payload().contains("\"refetched\": [\"doc\"]"))
			.containsExactly(false, false, true, true);
		RowChange inPart = new RowChange(UPDATE, docs, CaptureBed.unchanged(row, 1), null, this.bed.position(1), xid,
				Instant.EPOCH);
		this.bed.append(List.of(inPart), this.bed.position(1));
		assertThat(this.bed.events()).extracting((event) -> event.payload().contains("\"unavailable\": [\"doc\"]"))
			.containsExactly(true);
	}

	@Test
	void aKeyThatIsTooLongIsHashed() {
		this.bed.jdbc.sql("create table named (name text primary key)").update();
		this.bed.subscribe("g", "named", null, INSERT);
		this.bed.jdbc.sql("insert into named values (repeat('x', 996)), (repeat('x', 997)), (repeat('ä', 999))")
			.update();
		this.bed.rows("named", "true").forEach((row) -> this.bed.append(this.bed.insert("named", row)));
		assertThat(this.bed.events()).extracting(CaptureBed.Event::key)
			.satisfiesExactly((key) -> assertThat(key).startsWith("[\"xx").hasSize(1000),
					(key) -> assertThat(key).startsWith("sha256:").hasSize(71),
					(key) -> assertThat(key).startsWith("sha256:").hasSize(71));
	}

	@Test
	void aTableWithoutPrimaryKeyHasOneKey() {
		this.bed.jdbc.sql("create table keyless (a int, b text)").update();
		this.bed.jdbc.sql("alter table keyless replica identity full").update();
		this.bed.subscribe("g", "keyless", null, INSERT, UPDATE, DELETE);
		this.bed.jdbc.sql("insert into keyless values (1, 'x'), (2, 'y')").update();
		List<Row> rows = this.bed.rows("keyless", "true");
		this.bed.append(this.bed.insert("keyless", rows.get(0)), this.bed.update("keyless", rows.get(1), rows.get(0)),
				this.bed.delete("keyless", rows.get(1)));
		List<CaptureBed.Event> events = this.bed.events();
		assertThat(events).extracting((event) -> event.type() + event.key())
			.containsExactly("insert*", "update*", "delete*");
		assertThat(events).extracting(CaptureBed.Event::partition).containsOnly(events.get(0).partition());
		assertThat(events.get(1).payload()).contains("\"changed\": [\"a\", \"b\"]").doesNotContain("\"key\"");
	}

	@Test
	void strangeNamesStayWhatTheyAre() {
		this.bed.jdbc.sql("""
				create schema "a.b ""c""d";
				create table "a.b ""c""d"."Ördér's {bus} :x ?" ("ID" int, "id" int, "Größe ""cm"" :y ? \\ {bus}" text,
					"#1" int, primary key ("id", "ID"));
				create table "Orders" (id int primary key);
				create table orders (id int primary key);
				""").update();
		String table = "\"a.b \"\"c\"\"d\".\"Ördér's {bus} :x ?\"";
		int group = this.bed.subscribe("g", table,
				"\"Größe \"\"cm\"\" :y ? \\ {bus}\" = 'it''s {bus} :x ?' and \"Ördér's {bus} :x ?\".\"#1\" = 7 and array[1,2] @> array[\"ID\"]",
				INSERT);
		this.bed.subscribe("h", "\"Orders\"", null, INSERT);
		this.bed.subscribe("h", "orders", null, INSERT);
		Row row = new Row(List.of("1", "2", "it's {bus} :x ?", "7"), Set.of());
		this.bed.append(this.bed.insert(table, row), this.bed.insert("\"Orders\"", new Row(List.of("5"), Set.of())),
				this.bed.insert("orders", new Row(List.of("6"), Set.of())));
		List<CaptureBed.Event> events = this.bed.events();
		assertThat(events).extracting((event) -> event.stream() + event.key())
			.containsExactly("table:\"a.b \"\"c\"\"d\".Ördér's {bus} :x ?[2, 1]", "table:public.Orders[5]",
					"table:public.orders[6]");
		assertThat(events.get(0).headers()).isEqualTo("{\"group-" + group + "\": \"in\"}");
		assertThat(events.get(0).payload()).contains("\"ID\": 1", "\"id\": 2",
				"\"Größe \\\"cm\\\" :y ? \\\\ {bus}\": \"it's {bus} :x ?\"");
	}

	@Test
	void changesFromBeforeASchemaChangeAreWhatTheyWere() {
		this.bed.jdbc.sql("create type mood as enum ('sad', 'happy')").update();
		this.bed.jdbc.sql("create table t (id int primary key, gone text, mood mood, n int)").update();
		this.bed.subscribe("g", "t", "n > 0", INSERT);
		this.bed.jdbc.sql("insert into t values (1, 'g', 'sad', 5)").update();
		Row old = this.bed.rows("t", "true").get(0);
		RowChange before = this.bed.insert("t", old);
		this.bed.jdbc
			.sql("alter table t drop column gone; alter table t rename column n to m; "
					+ "alter type mood rename value 'sad' to 'gloomy'; alter table t alter column m type text; "
					+ "alter table t add column n int")
			.update();
		this.bed.forget("t");
		RowChange after = this.bed.insert("t", this.bed.rows("t", "true").get(0));
		this.bed.append(before, after);
		List<CaptureBed.Event> events = this.bed.events();
		assertThat(events).hasSize(1);
		assertThat(events.get(0).payload())
			.contains("\"record\": {\"n\": 5, \"id\": 1, \"gone\": \"g\", \"mood\": \"sad\"}");
	}

	@Test
	void aTypeMayBeRenamedBetweenTwoChangesOfWhichTheStreamSaysNothing() {
		this.bed.jdbc.sql("create type place as (street text, number int)").update();
		this.bed.jdbc.sql("create table t (id int primary key, place place)").update();
		this.bed.subscribe("g", "t", null, INSERT);
		RowChange change = this.bed.insert("t", new Row(List.of("1", "(Main,5)"), Set.of()));
		this.bed.append(change);
		this.bed.jdbc.sql("alter type place rename to address").update();
		this.bed.append(change);
		assertThat(this.bed.events()).hasSize(2)
			.allSatisfy((event) -> assertThat(event.payload()).contains("{\"number\": 5, \"street\": \"Main\"}"));
	}

	@Test
	void changesFromBeforeTheSubscriptionAreNotForTheGroup() {
		orders("default");
		this.bed.subscribe("g", "orders", null, INSERT);
		RowChange early = new RowChange(INSERT, this.bed.relation("orders"), order(1, "x", "1"), null,
				new CapturePosition(5, 1), 3, Instant.EPOCH);
		assertThat(this.bed.append(early).events()).isZero();
	}

	@Test
	void whoLostTheCaptureAppendsNothing() {
		orders("default");
		this.bed.subscribe("g", "orders", null, INSERT);
		CaptureCheckpoint seen = this.bed.checkpoint();
		RowChange change = this.bed.insert("orders", order(1, "x", "1"));
		this.bed.capture.takeOver(seen, "other");
		assertThatExceptionOfType(LostCaptureException.class)
			.isThrownBy(() -> this.bed.capture.append(seen, List.of(change), this.bed.position(1)));
		assertThatExceptionOfType(LostCaptureException.class).isThrownBy(() -> this.bed.capture.confirm(seen, 7));
		assertThatExceptionOfType(LostCaptureException.class)
			.isThrownBy(() -> this.bed.capture.begin("third", "slot", "1", 1));
		assertThat(this.bed.events()).isEmpty();
		assertThat(this.bed.capture.read()).extracting(CaptureCheckpoint::holder).isEqualTo("other");
	}

	@Test
	void ofTwoThatCaptureAtOnceOneAppends() throws Exception {
		orders("default");
		this.bed.subscribe("g", "orders", null, INSERT);
		CaptureCheckpoint seen = this.bed.checkpoint();
		RowChange change = this.bed.insert("orders", order(1, "x", "1"));
		ExecutorService threads = Executors.newFixedThreadPool(2);
		try {
			for (int round = 0; round < 20; round++) {
				CaptureCheckpoint current = seen;
				CyclicBarrier start = new CyclicBarrier(2);
				Callable<CaptureStore.@Nullable Appended> attempt = () -> {
					CaptureStore store = new CaptureStore(this.bed.database, this.bed.listeners,
							Duration.ofSeconds(20));
					start.await();
					try {
						return store.append(current, List.of(change), this.bed.position(1));
					}
					catch (LostCaptureException ex) {
						return null;
					}
				};
				List<CaptureStore.Appended> winners = new ArrayList<>();
				for (Future<CaptureStore.@Nullable Appended> result : threads.invokeAll(List.of(attempt, attempt))) {
					CaptureStore.Appended appended = result.get();
					if (appended != null) {
						winners.add(appended);
					}
				}
				assertThat(winners).hasSize(1);
				assertThat(this.bed.events()).hasSize(1);
				seen = winners.get(0).checkpoint();
			}
		}
		finally {
			threads.shutdownNow();
		}
	}

	@Test
	void changesOfSeveralTablesKeepTheirOrder() {
		orders("default");
		this.bed.jdbc.sql("create table lines (id int primary key)").update();
		this.bed.subscribe("g", "orders", null, INSERT);
		this.bed.subscribe("g", "lines", null, INSERT);
		List<RowChange> changes = new ArrayList<>();
		Row order = order(1, "x", "1");
		for (int i = 0; i < 5000; i++) {
			String id = Integer.toString(i);
			changes.add((i % 3 == 0) ? this.bed.insert("orders", new Row(List.of(id, "x", "1"), Set.of()))
					: this.bed.insert("lines", new Row(List.of(id), Set.of())));
		}
		assertThat(order.values()).hasSize(3);
		this.bed.append(changes);
		assertThat(this.bed.events()).extracting(CaptureBed.Event::key)
			.containsExactly(IntStream.range(0, 5000).mapToObj((i) -> "[" + i + "]").toArray(String[]::new));
	}

	@Test
	void whatCannotBeHadIsRefused() {
		orders("default");
		PublishedTable orders = this.bed.published("orders");
		for (String filter : List.of("nothing = 1", "status = 1", "true) or (true", "1/0 > 1; drop table orders",
				"count(*) over ()", "")) {
			assertThatExceptionOfType(IllegalArgumentException.class).as(filter)
				.isThrownBy(() -> this.bed.listeners
					.check(List.of(new TableInterest(orders, ListenedTable.of("orders").filter(filter)))))
				.withMessageContaining("[" + filter + "]");
		}
		assertThatExceptionOfType(IllegalArgumentException.class)
			.isThrownBy(() -> this.bed.listeners
				.check(List.of(new TableInterest(orders, ListenedTable.of("orders").columns("Status")))))
			.withMessageContaining("\"Status\"");
		assertThatExceptionOfType(IllegalArgumentException.class)
			.isThrownBy(() -> this.bed.listeners
				.check(List.of(new TableInterest(orders, ListenedTable.of("orders").columns("status")))))
			.withMessageContaining("alter table \"public\".\"orders\" replica identity full");
	}

	@Test
	void aSubscriptionKeepsItsBeginning() {
		orders("default");
		this.bed.subscribe("g", "orders", null, INSERT);
		List<TableSubscription> first = this.bed.listeners.subscriptions();
		this.bed.jdbc.sql("create table more_wal (a int)").update();
		this.bed.subscribe("g", "orders", "total > 1", TableOperation.DELETE);
		List<TableSubscription> second = this.bed.listeners.subscriptions();
		assertThat(second).hasSize(1);
		assertThat(second.get(0).since()).isEqualTo(first.get(0).since());
		assertThat(second.get(0).filter()).isEqualTo("total > 1");
		assertThat(second.get(0).group()).isEqualTo("g");
	}

	@Test
	void aFilterThatIsTooSlowDoesNotHoldUpTheRest() {
		orders("default");
		int group = this.bed.subscribe("g", "orders", "pg_sleep(total::float8) is not null", INSERT);
		CaptureStore impatient = new CaptureStore(this.bed.database, this.bed.listeners, Duration.ofMillis(50));
		Row slow = order(1, "x", "100");
		List<RowChange> changes = new ArrayList<>();
		for (int i = 0; i < 100; i++) {
			changes.add(this.bed.insert("orders", slow));
		}
		impatient.append(this.bed.checkpoint(), changes, this.bed.position(100));
		assertThat(this.bed.events()).hasSize(100)
			.allSatisfy((event) -> assertThat(event.headers()).contains("\"group-" + group + "\": \"error: "));
	}

}
