package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.LongStream;

import io.pgbus.BackfillInfo;
import io.pgbus.BackfillInfo.State;
import io.pgbus.BackfillOperations;
import io.pgbus.BackfillRequest;
import io.pgbus.LiveChanges;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import io.pgbus.replication.Capture;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.greaterThan;

/**
 * Backfills in all the ways in which they can be had: without changes, with changes
 * alongside, at least once.
 */
class BackfillModesIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = this.database.jdbc();

	private final String slot = "test_" + UUID.randomUUID().toString().replace("-", "");

	BackfillModesIntegrationTests() {
		this.jdbc.sql("create table item (id bigint primary key, name text not null)").update();
		this.jdbc.sql("insert into item select n, 'old' || n from generate_series(-5, 20) n").update();
	}

	@AfterEach
	void close() {
		Items.handler = (change) -> {
		};
		this.database.dropSlot(this.slot);
		this.database.close();
	}

	@Test
	void aPureBackfillNeedsNoLogicalDecoding() {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of("wal_level", "replica"))) {
			TestDatabase own = server.createDatabase();
			own.jdbc().sql("create table item (id bigint primary key, name text not null)").update();
			own.jdbc().sql("insert into item select n, 'old' || n from generate_series(-5, 20) n").update();
			ApplicationContextRunner application = BusApplication.on(own)
				.withPropertyValues("pgbus.backfill.chunk-rows=3", "pgbus.listener.poll-interval=100ms");
			application.withBean(OnlyRows.class).run((context) -> {
				awaitDone(context, "rows");
				assertThat(context.getBean(OnlyRows.class).changes).hasSize(6);
			});
			application.withBean(Items.class)
				.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("wal_level"));
		}
	}

	@Test
	void aPureBackfillNeedsNoCapture() {
		ApplicationContextRunner application = application().withPropertyValues("pgbus.capture.enabled=false");
		application.withBean(OnlyRows.class).run((context) -> {
			assertThat(context).doesNotHaveBean(Capture.class);
			awaitDone(context, "rows");
			assertThat(context.getBean(OnlyRows.class).changes).hasSize(6);
			long id = context.getBean(BackfillOperations.class)
				.start("rows", BackfillRequest.of("item").keys(List.of(1)))
				.id();
			await().until(() -> find(context, id).state() == State.DONE);
		});
		application.withBean(Items.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("pgbus.capture.enabled"));
	}

	@Test
	void withChangesAlongsideABackfillBeginsThoughOneIsBeingHandled() {
		CountDownLatch first = new CountDownLatch(1);
		CountDownLatch goOn = new CountDownLatch(1);
		Items.handler = (change) -> {
			if (change.operation() == TableOperation.UPDATE) {
				first.countDown();
				awaitLatch(goOn);
			}
		};
		application().withBean(Items.class)
			.withPropertyValues("pgbus.listener.concurrency=2", "pgbus.listener.delivery=at-least-once")
			.run((context) -> {
				awaitDone(context, "items");
				this.jdbc.sql("update item set name = 'new' where id = 3").update();
				awaitLatch(first);
				BackfillOperations backfills = context.getBean(BackfillOperations.class);
				BackfillInfo waits = backfills.start("items", BackfillRequest.of("item"));
				BackfillInfo begins = backfills.start("items",
						BackfillRequest.of("item").liveChanges(LiveChanges.ALONGSIDE));
				await().until(() -> find(context, begins.id()).state() == State.DONE);
				assertThat(find(context, waits.id()).error()).contains("being handled");
				goOn.countDown();
				await().until(() -> find(context, waits.id()).state() == State.DONE);
			});
	}

	@Test
	void aBackfillBeginsAlsoWhileItsOnlyWorkerHasChangesWithoutEnd() {
		AtomicInteger number = new AtomicInteger();
		JdbcClient other = this.jdbc;
		Items.handler = (change) -> {
			if (change.operation() == TableOperation.UPDATE) {
				other.sql("update item set name = ? where id = 3").param("new" + number.incrementAndGet()).update();
			}
		};
		application().withBean(Items.class).run((context) -> {
			awaitDone(context, "items");
			this.jdbc.sql("update item set name = 'new' where id = 3").update();
			await().untilAtomic(number, greaterThan(5));
			BackfillInfo info = context.getBean(BackfillOperations.class)
				.start("items", BackfillRequest.of("item").liveChanges(LiveChanges.ALONGSIDE));
			await().until(() -> find(context, info.id()).state() == State.DONE);
		});
	}

	@Test
	void atLeastOnceNoRowIsMissedThoughHandlersFailAndAnInstanceIsTakenForDead() {
		this.jdbc.sql("insert into item select n, 'old' || n from generate_series(21, 200) n").update();
		AtomicInteger calls = new AtomicInteger();
		Items.handler = (change) -> {
			int call = calls.incrementAndGet();
			if (call == 50) {
				this.jdbc.sql("delete from pgbus.consumer").update();
			}
			if (call % 20 == 0) {
				throw new IllegalStateException("A bad day");
			}
		};
		application().withBean(Items.class)
			.withPropertyValues("pgbus.listener.delivery=at-least-once", "pgbus.listener.concurrency=2",
					"pgbus.listener.retry.back-off=10ms", "pgbus.listener.batch-size=2", "pgbus.consumer.timeout=2s")
			.run((context) -> {
				awaitDone(context, "items");
				this.jdbc.sql("update item set name = 'new' where id = 3").update();
				Items items = context.getBean(Items.class);
				await().untilAsserted(
						() -> assertThat(items.changes).extracting(TableChange::record).contains(new Item(3, "new")));
				await().untilAsserted(() -> assertThat(items.changes)
					.filteredOn((change) -> change.operation() == TableOperation.READ)
					.extracting((change) -> change.record().id())
					.containsAll(LongStream.rangeClosed(-5, 200).boxed().toList()));
			});
	}

	/** Polling would end the wait, if one of them waited. */
	@Test
	void workersThatComeTogetherForChunksDoNotWaitForAPoll() {
		this.jdbc.sql("insert into item select -n, 'more' from generate_series(100, 3100) n").update();
		application()
			.withPropertyValues("pgbus.capture.enabled=false", "pgbus.backfill.chunk-rows=10",
					"pgbus.listener.poll-interval=1m")
			.withBean(ManyWorkers.class)
			.run((context) -> await().atMost(Duration.ofSeconds(50))
				.until(() -> context.getBean(ManyWorkers.class).rows.get() == 3001));
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

		static Consumer<TableChange<Item>> handler = (change) -> {
		};

		final Queue<TableChange<Item>> changes = new ConcurrentLinkedQueue<>();

		@PgTableListener(group = "items", tables = @PgTable(name = "item", backfill = "select * from item"),
				operations = { TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE })
		void on(TableChange<Item> change) {
			handler.accept(change);
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

	static class ManyWorkers {

		final AtomicInteger rows = new AtomicInteger();

		@PgTableListener(group = "many", operations = TableOperation.READ, concurrency = "8",
				tables = @PgTable(name = "item", backfill = "select * from item where id <= -100"))
		void on(TableChange<Map<String, Object>> change) {
			this.rows.incrementAndGet();
		}

	}

}
