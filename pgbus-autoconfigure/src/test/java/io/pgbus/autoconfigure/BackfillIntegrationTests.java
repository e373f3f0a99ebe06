package io.pgbus.autoconfigure;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.LongStream;

import io.pgbus.BackfillInfo;
import io.pgbus.BackfillInfo.State;
import io.pgbus.BackfillOperations;
import io.pgbus.BackfillRequest;
import io.pgbus.ConsumerGroupOperations;
import io.pgbus.PgBusException;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

/**
 * Backfills, from the annotation or the operations to the handler.
 */
class BackfillIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = this.database.jdbc();

	private final String slot = "test_" + UUID.randomUUID().toString().replace("-", "");

	BackfillIntegrationTests() {
		this.jdbc.sql("create table item (id bigint primary key, name text not null)").update();
		this.jdbc.sql("insert into item select n, 'old' || n from generate_series(-5, 20) n").update();
	}

	@AfterEach
	void close() {
		Items.failing = new ArrayList<>();
		Items.handler = (change) -> {
		};
		this.database.dropSlot(this.slot);
		this.database.close();
	}

	@Test
	void rowsComeFirstAndThenTheChanges() {
		application().withBean(Items.class).run((context) -> {
			Items items = context.getBean(Items.class);
			awaitDone(context, "items");
			this.jdbc.sql("update item set name = 'new' where id = 3").update();
			this.jdbc.sql("delete from item where id = 4").update();
			await().untilAsserted(() -> assertThat(items.changes).hasSize(28));
			List<TableChange<Item>> changes = List.copyOf(items.changes);
			assertThat(changes.subList(0, 26)).extracting(TableChange::operation).containsOnly(TableOperation.READ);
			assertThat(changes.subList(0, 26)).extracting(TableChange::record)
				.containsExactlyInAnyOrderElementsOf(
						LongStream.rangeClosed(-5, 20).mapToObj((n) -> new Item(n, "old" + n)).toList());
			assertThat(changes.get(0).backfill()).isNotNull();
			assertThat(changes.get(0).origin()).isNull();
			assertThat(changes.get(0).table()).isEqualTo("public.item");
			assertThat(changes.subList(26, 28)).extracting(TableChange::operation)
				.containsExactlyInAnyOrder(TableOperation.UPDATE, TableOperation.DELETE);
			BackfillInfo info = backfill(context, "items");
			assertThat(info.rowsRead()).isEqualTo(26);
			assertThat(info.chunksDone()).isEqualTo(9);
			assertThat(info.share()).isEqualTo(1);
		});
	}

	@Test
	void aDeclaredBackfillRunsOnce() {
		application().withBean(Items.class).run((context) -> awaitDone(context, "items"));
		this.jdbc.sql("insert into item values (100, 'meanwhile')").update();
		application().withBean(Items.class).run((context) -> {
			Items items = context.getBean(Items.class);
			await().untilAsserted(() -> assertThat(items.changes).hasSize(1));
			assertThat(items.changes.element().operation()).isEqualTo(TableOperation.INSERT);
			assertThat(context.getBean(BackfillOperations.class).list("items")).hasSize(1);
		});
	}

	@Test
	void aRowThatFailsIsTriedAgainAndTheOthersGoOn() {
		Items.failing = new ArrayList<>(List.of(3L, 7L));
		application().withBean(Items.class)
			.withPropertyValues("pgbus.listener.retry.back-off=10ms", "pgbus.listener.retry.attempts=3")
			.run((context) -> {
				awaitDone(context, "items");
				Items items = context.getBean(Items.class);
				await().untilAsserted(() -> assertThat(items.changes).hasSize(26));
				assertThat(this.jdbc.sql("select count(*) from pgbus.event").query(Long.class).single()).isEqualTo(2);
				await().untilAsserted(() -> assertThat(
						this.jdbc.sql("select count(*) from pgbus.failed_event").query(Long.class).single())
					.isZero());
				assertThat(items.changes).extracting((change) -> change.key().get("id")).doesNotHaveDuplicates();
			});
	}

	@Test
	void aPureBackfillNeedsNoPublicationAndNoCapture() {
		application().withBean(OnlyRows.class).run((context) -> {
			awaitDone(context, "rows");
			assertThat(context.getBean(OnlyRows.class).changes).hasSize(6)
				.allMatch((change) -> change.operation() == TableOperation.READ);
			assertThat(this.jdbc.sql("select count(*) from pg_publication").query(Long.class).single()).isZero();
			assertThat(this.jdbc.sql("select count(*) from pgbus.capture_state").query(Long.class).single()).isZero();
		});
	}

	@Test
	void aGroupGetsRowsAgainWhenItIsAskedTo() {
		application().withBean(Items.class).run((context) -> {
			awaitDone(context, "items");
			Items items = context.getBean(Items.class);
			await().untilAsserted(() -> assertThat(items.changes).hasSize(26));
			BackfillInfo started = context.getBean(BackfillOperations.class)
				.start("items", BackfillRequest.of("item").filter("id between 1 and 4").name("repair"));
			await().until(() -> find(context, started.id()).state() == State.DONE);
			assertThat(items.changes).hasSize(30);
			assertThat(find(context, started.id()).rowsRead()).isEqualTo(4);
			assertThat(items.changes.stream().skip(26)).extracting(TableChange::backfill).containsOnly(started.id());
			assertThatExceptionOfType(PgBusException.class)
				.isThrownBy(() -> context.getBean(BackfillOperations.class)
					.start("items", BackfillRequest.of("item").name("repair")))
				.withMessageContaining("repair");
		});
	}

	@Test
	void aGroupGetsTheRowsWithTheseKeysAgain() {
		this.jdbc.sql("create table part (n int, name text, day date, primary key (name, n, day))").update();
		this.jdbc.sql("insert into part select n, 'it''s \\', '2026-02-01' from generate_series(1, 9) n").update();
		application().withBean(Parts.class).withBean(OnlyRows.class).run((context) -> {
			BackfillOperations backfills = context.getBean(BackfillOperations.class);
			awaitDone(context, "rows");
			awaitDone(context, "parts");
			Parts parts = context.getBean(Parts.class);
			Map<String, Object> first = Map.copyOf(parts.changes.element().key());
			parts.changes.clear();
			BackfillInfo byKeys = backfills.start("parts", BackfillRequest.of("part")
				.keys(List.of(first, List.of("it's \\", 5, "2026-02-01"), List.of("none", 6, "2026-02-01"))));
			await().until(() -> find(context, byKeys.id()).state() == State.DONE);
			assertThat(parts.changes).extracting((change) -> change.key().get("n")).containsExactly(first.get("n"), 5);
			OnlyRows rows = context.getBean(OnlyRows.class);
			rows.changes.clear();
			BackfillInfo filtered = backfills.start("rows",
					BackfillRequest.of("item").filter("id > 3 -- more").keys(List.of(3L, "4", 5, 100)));
			await().until(() -> find(context, filtered.id()).state() == State.DONE);
			assertThat(rows.changes).extracting((change) -> change.key().get("id")).containsExactly(4, 5);
			assertThatIllegalArgumentException()
				.isThrownBy(() -> backfills.start("rows", BackfillRequest.of("item").keys(List.of("1) or (true"))))
				.withMessageContaining("1) or (true");
			assertThatIllegalArgumentException()
				.isThrownBy(() -> backfills.start("parts", BackfillRequest.of("part").keys(List.of(1))))
				.withMessageContaining("[name, n, day]");
			assertThatIllegalArgumentException()
				.isThrownBy(() -> backfills.start("rows", BackfillRequest.of("item").keys(List.of(Map.of("nr", 1)))))
				.withMessageContaining("{nr=1}");
			assertThatIllegalArgumentException().isThrownBy(() -> BackfillRequest.of("item").keys(List.of()));
		});
	}

	@Test
	void aBackfillCanBePausedResumedCancelledAndRestarted() {
		CountDownLatch first = new CountDownLatch(1);
		CountDownLatch goOn = new CountDownLatch(1);
		Items.handler = (change) -> {
			first.countDown();
			awaitLatch(goOn);
		};
		application().withBean(Items.class).run((context) -> {
			awaitLatch(first);
			BackfillOperations backfills = context.getBean(BackfillOperations.class);
			Items items = context.getBean(Items.class);
			long id = backfill(context, "items").id();
			assertThat(backfills.pause(id).state()).isEqualTo(State.PAUSED);
			goOn.countDown();
			// the chunk at hand is freed
			await().untilAsserted(() -> assertThat(
					this.jdbc.sql("select count(*) from pgbus.cursor_state where cursor_id < 0 and owner is not null")
						.query(Long.class)
						.single())
				.isZero());
			assertThat(items.changes.size()).isLessThanOrEqualTo(3);
			assertThat(backfills.resume(id).state()).isEqualTo(State.RUNNING);
			awaitDone(context, "items");
			await().untilAsserted(() -> assertThat(items.changes).hasSize(26));
			backfills.restart(id);
			await().untilAsserted(() -> assertThat(items.changes).hasSize(52));
			awaitDone(context, "items");
			assertThat(backfills.cancel(id).state()).isEqualTo(State.DONE);
			assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> backfills.pause(id + 1));
		});
	}

	@Test
	void changesComeOnceABackfillIsCancelled() {
		CountDownLatch first = new CountDownLatch(1);
		CountDownLatch goOn = new CountDownLatch(1);
		Items.handler = (change) -> {
			first.countDown();
			awaitLatch(goOn);
		};
		application().withBean(Items.class).run((context) -> {
			awaitLatch(first);
			this.jdbc.sql("update item set name = 'new' where id = 20").update();
			long id = backfill(context, "items").id();
			assertThat(context.getBean(BackfillOperations.class).cancel(id).state()).isEqualTo(State.CANCELLED);
			goOn.countDown();
			Items items = context.getBean(Items.class);
			await().untilAsserted(() -> assertThat(items.changes).last()
				.extracting(TableChange::operation)
				.isEqualTo(TableOperation.UPDATE));
			assertThat(items.changes.size()).isLessThan(26);
		});
	}

	@Test
	void theFirstRowWaitsForTransactionsThatWroteBeforeTheTableWasPublished() throws Exception {
		this.jdbc.sql("create table note (id bigint primary key)").update();
		// a slot is made only when no transaction is running
		application().withBean(Notes.class).run((context) -> awaitDone(context, "notes"));
		try (var connection = this.database.connect(); var statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			statement.execute("insert into item values (50, 'late')");
			application().withBean(Items.class).run((context) -> {
				await().untilAsserted(() -> assertThat(backfill(context, "items").error()).contains("still running"));
				assertThat(context.getBean(Items.class).changes).isEmpty();
				connection.commit();
				awaitDone(context, "items");
				Items items = context.getBean(Items.class);
				await().untilAsserted(() -> assertThat(items.changes).hasSize(27));
				assertThat(items.changes).extracting((change) -> change.key().get("id"))
					.contains(50)
					.doesNotHaveDuplicates();
			});
		}
	}

	@Test
	void aBackfillThatPostgresRefusesToReadFailsAndCanBeRestarted() {
		this.jdbc.sql("create view good as select * from item").update();
		this.jdbc.sql("create view v as select id, name, 10 / (id - 13) as bad from item").update();
		application().withBean(OnlyRows.class).run((context) -> {
			awaitDone(context, "rows");
			BackfillOperations backfills = context.getBean(BackfillOperations.class);
			long id = backfills.start("rows", BackfillRequest.of("item").query("select * from v where bad > -100"))
				.id();
			await().until(() -> find(context, id).state() == State.FAILED);
			assertThat(find(context, id).error()).contains("division by zero");
			this.jdbc.sql("delete from item where id = 13").update();
			backfills.restart(id);
			await().until(() -> find(context, id).state() == State.DONE);
			assertThat(find(context, id).rowsRead()).isEqualTo(25);
		});
	}

	@Test
	void whatCannotBeReadIsRefusedWithTheReason() {
		this.jdbc.sql("create table keyless (id bigint)").update();
		application().withBean(OnlyRows.class).run((context) -> {
			BackfillOperations backfills = context.getBean(BackfillOperations.class);
			assertThatIllegalArgumentException()
				.isThrownBy(() -> backfills.start("rows", BackfillRequest.of("item").query("select name from item")))
				.withMessageContaining("\"id\"");
			assertThatIllegalArgumentException().isThrownBy(
					() -> backfills.start("rows", BackfillRequest.of("item").query("select id::text, name from item")))
				.withMessageContaining("text")
				.withMessageContaining("bigint");
			assertThatIllegalArgumentException()
				.isThrownBy(() -> backfills.start("rows",
						BackfillRequest.of("item").query("select * from item) as x; delete from item; --")))
				.withMessageContaining("backfill query");
			assertThatIllegalArgumentException().isThrownBy(() -> backfills.start("rows",
					BackfillRequest.of("item").query("with d as (delete from item returning *) select * from d")));
			assertThatIllegalArgumentException()
				.isThrownBy(() -> backfills.start("rows", BackfillRequest.of("item").filter("missing > 1")))
				.withMessageContaining("missing");
			assertThatExceptionOfType(PgBusException.class)
				.isThrownBy(() -> backfills.start("rows", BackfillRequest.of("keyless")));
			assertThatExceptionOfType(PgBusException.class)
				.isThrownBy(() -> backfills.start("other", BackfillRequest.of("item")))
				.withMessageContaining("other");
		});
		assertThat(this.jdbc.sql("select count(*) from item").query(Long.class).single()).isEqualTo(26);
	}

	@Test
	void deletingAGroupTakesItsBackfillsAway() {
		application().withBean(OnlyRows.class).run((context) -> awaitDone(context, "rows"));
		application().run((context) -> {
			context.getBean(ConsumerGroupOperations.class).deleteGroup("rows");
			assertThat(context.getBean(BackfillOperations.class).list("rows")).isEmpty();
			assertThat(this.jdbc.sql("select count(*) from pgbus.cursor_state").query(Long.class).single()).isZero();
		});
	}

	@Test
	void theRateIsKept() {
		application().withBean(OnlyRows.class).run((context) -> {
			awaitDone(context, "rows");
			BackfillInfo started = context.getBean(BackfillOperations.class)
				.start("rows", BackfillRequest.of("item").query("select * from item").rowsPerSecond(1));
			await().until(() -> find(context, started.id()).rowsRead() >= 3);
			BackfillInfo info = find(context, started.id());
			assertThat(info.rowsRead()).isLessThan(26);
			assertThat(info.timeLeft()).isNotNull();
			context.getBean(BackfillOperations.class).cancel(started.id());
		});
	}

	private ApplicationContextRunner application() {
		return BusApplication.on(this.database)
			.withPropertyValues("pgbus.capture.slot=" + this.slot, "pgbus.capture.standby-interval=200ms",
					"pgbus.listener.poll-interval=100ms", "pgbus.backfill.chunk-rows=3");
	}

	private static BackfillInfo backfill(ApplicationContext context, String group) {
		return context.getBean(BackfillOperations.class).list(group).get(0);
	}

	private static BackfillInfo find(ApplicationContext context, long id) {
		return context.getBean(BackfillOperations.class).find(id).orElseThrow();
	}

	private static void awaitDone(ApplicationContext context, String group) {
		await().until(() -> backfill(context, group).state() == State.DONE);
	}

	private static void awaitLatch(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	record Item(long id, String name) {

	}

	static class Items {

		static List<Long> failing = new ArrayList<>();

		static Consumer<TableChange<Item>> handler = (change) -> {
		};

		final Queue<TableChange<Item>> changes = new ConcurrentLinkedQueue<>();

		@PgTableListener(group = "items", tables = @PgTable(name = "item", backfill = "select * from item"),
				operations = { TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE })
		void on(TableChange<Item> change) {
			handler.accept(change);
			if (change.record() != null && failing.remove(change.record().id())) {
				throw new IllegalStateException("Not yet");
			}
			this.changes.add(change);
		}

	}

	static class Notes {

		@PgTableListener(group = "notes", tables = @PgTable(name = "note", backfill = "select * from note"))
		void on(TableChange<Map<String, Object>> change) {
		}

	}

	static class Parts {

		final Queue<TableChange<Map<String, Object>>> changes = new ConcurrentLinkedQueue<>();

		@PgTableListener(group = "parts", operations = TableOperation.READ,
				tables = @PgTable(name = "part", backfill = "select * from part"))
		void on(TableChange<Map<String, Object>> change) {
			this.changes.add(change);
		}

	}

	static class OnlyRows {

		final Queue<TableChange<Map<String, Object>>> changes = new ConcurrentLinkedQueue<>();

		@PgTableListener(group = "rows", operations = TableOperation.READ, concurrency = "2",
				tables = @PgTable(name = "item", backfill = "select * from item where id <= 0"))
		void on(TableChange<Map<String, Object>> change) {
			this.changes.add(change);
		}

	}

}
