package io.pgbus.autoconfigure;

import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import io.pgbus.BackfillInfo.State;
import io.pgbus.BackfillOperations;
import io.pgbus.BackfillRequest;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import io.pgbus.listener.InstanceProcess;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.Test;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Backfills where it is hard: of a commit that nobody sees yet, of many rows with little
 * memory, of columns that changes do not have.
 * <p>
 * There are many rows with <code>-Dpgbus.backfill.rows=2000000</code>, and 100,000 else.
 */
class BackfillTrialsIntegrationTests {

	private static final int ROWS = Integer.getInteger("pgbus.backfill.rows", 100_000);

	private final String slot = "test_" + UUID.randomUUID().toString().replace("-", "");

	/**
	 * A commit that waits for a standby is in the write-ahead log, from where the capture
	 * has it, and is not visible.
	 */
	@Test
	void aChangeThatIsCapturedBeforeItIsVisibleComesAfterTheOldRow() throws Exception {
		ExecutorService threads = Executors.newSingleThreadExecutor();
		try (OwnServer server = TestDatabase.startOwnServer(Map.of())) {
			TestDatabase database = server.createDatabase();
			JdbcClient jdbc = database.jdbc();
			jdbc.sql("create table item (id bigint primary key, name text not null)").update();
			jdbc.sql("insert into item select n, 'old' from generate_series(1, 20) n").update();
			Items.reached = new CountDownLatch(1);
			Items.goOn = new CountDownLatch(1);
			application(database)
				.withPropertyValues(
						"spring.datasource.url=" + database.jdbcUrl() + "?options=-c%20synchronous_commit=local",
						"pgbus.backfill.chunk-rows=3")
				.withBean(Items.class)
				.run((context) -> {
					Items.reached.await();
					setStandby(database, "set synchronous_standby_names = 'nobody'");
					Future<?> late = threads.submit(() -> lateChange(database));
					await().until(() -> jdbc.sql("select count(*) from pgbus.event where type = 'update'")
						.query(Long.class)
						.single() == 1);
					Items.goOn.countDown();
					await().until(() -> done(context));
					assertThat(jdbc.sql("select name from item where id = 15").query(String.class).single())
						.as("seen meanwhile")
						.isEqualTo("old");
					assertThat(late.isDone()).isFalse();
					Items items = context.getBean(Items.class);
					await().untilAsserted(() -> assertThat(items.of(15)).containsExactly("READ old", "UPDATE late"));
					setStandby(database, "reset synchronous_standby_names");
					late.get();
					long replay = context.getBean(BackfillOperations.class)
						.start("items", BackfillRequest.of("item").keys(List.of(15)))
						.id();
					await().until(() -> context.getBean(BackfillOperations.class)
						.find(replay)
						.orElseThrow()
						.state() == State.DONE);
					assertThat(items.of(15)).containsExactly("READ old", "UPDATE late", "READ late");
				});
		}
		finally {
			Items.goOn.countDown();
			threads.shutdownNow();
		}
	}

	private static void setStandby(TestDatabase database, String setting) throws Exception {
		try (Connection connection = database.connect(); Statement statement = connection.createStatement()) {
			statement.execute("alter system " + setting);
			statement.execute("select pg_reload_conf()");
			await().until(() -> {
				try (var row = statement.executeQuery("show synchronous_standby_names")) {
					return row.next() && row.getString(1).isEmpty() == setting.startsWith("reset");
				}
			});
		}
	}

	private static Void lateChange(TestDatabase database) throws Exception {
		try (Connection connection = database.connect(); Statement statement = connection.createStatement()) {
			statement.execute("update item set name = 'late' where id = 15");
		}
		return null;
	}

	@Test
	void manyRowsAreReadWithLittleMemoryWhileOthersChangeThem() {
		try (TestDatabase database = TestDatabase.create()) {
			JdbcClient jdbc = database.jdbc();
			CapturingMain.createTables(jdbc);
			jdbc.sql("insert into counter select k, 0 from generate_series(1, ?) k").param(ROWS).update();
			jdbc.sql("analyze counter").update();
			try (InstanceProcess process = CapturingMain.start(database, "128m", "pgbus.capture.slot=" + this.slot,
					"pgbus.capture.trim-interval=1s", "pgbus.listener.batch-size=1000",
					"pgbus.table-listeners.deliveries.tables[0].name=counter",
					"pgbus.table-listeners.deliveries.tables[0].operations=insert,update,delete",
					"pgbus.table-listeners.deliveries.tables[0].backfill=select * from counter")) {
				await().atMost(Duration.ofMinutes(2))
					.ignoreExceptions()
					.until(() -> count(jdbc, "select count(*) from delivered") > 0);
				jdbc.sql("update counter set n = n + 1 where key % 100 = 0").update();
				await().atMost(Duration.ofMinutes(20))
					.until(() -> !process.isAlive()
							|| count(jdbc, "select count(*) from pgbus.backfill where state = 'done'") == 1);
				assertThat(process.isAlive()).isTrue();
				await().atMost(Duration.ofMinutes(5))
					.untilAsserted(() -> assertThat(count(jdbc,
							"""
									select count(*) from counter c left join (
										select distinct on (key) key, n from delivered where key % 100 = 0 order by key, ordinal desc
									) d using (key) where c.key % 100 = 0 and d.n is distinct from c.n"""))
						.isZero());
				// one more, so that the capture is past the end of the backfill
				jdbc.sql("update counter set n = n + 1 where key = 1").update();
				await().atMost(Duration.ofMinutes(5))
					.untilAsserted(() -> assertThat(count(jdbc, "select count(*) from pgbus.backfill_key")).isZero());
			}
			assertThat(count(jdbc, "select count(*) from delivered where operation = 'READ'")).isEqualTo(ROWS);
			assertThat(count(jdbc, "select count(distinct key) from delivered where operation = 'READ'"))
				.isEqualTo(ROWS);
			assertThat(count(jdbc, "select count(*) - count(distinct (key, n)) from delivered")).as("doubles").isZero();
			assertThat(count(jdbc, "select count(*) from pgbus.failed_event")).isZero();
			database.dropSlot(this.slot);
		}
	}

	@Test
	void rowsHaveTheColumnsAndTheJsonThatTheirChangesHave() {
		try (TestDatabase database = TestDatabase.create()) {
			JdbcClient jdbc = database.jdbc();
			jdbc.sql("""
					create table item (
						id bigint primary key, name text, price numeric(10, 2), at timestamptz,
						gross numeric generated always as (price * 1.2) stored, tags text[], data jsonb
					)""").update();
			application(database).withBean(Maps.class).run((context) -> {
				await().until(() -> done(context));
				jdbc.sql("""
						insert into item values
						(1, 'a', 1.10, '2026-02-01 12:00:00.5+01', default, array['x', null], '{"b": 1, "a": [null]}'),
						(2, null, null, null, default, null, null)""").update();
				Maps maps = context.getBean(Maps.class);
				await().untilAsserted(() -> assertThat(maps.changes).hasSize(2));
				context.getBean(BackfillOperations.class).start("items", BackfillRequest.of("item"));
				await().untilAsserted(() -> assertThat(maps.changes).hasSize(4));
				for (int id = 1; id <= 2; id++) {
					int wanted = id;
					List<TableChange<Map<String, Object>>> both = maps.changes.stream()
						.filter((change) -> change.key().get("id").equals(wanted))
						.toList();
					assertThat(both).extracting(TableChange::operation)
						.containsExactly(TableOperation.INSERT, TableOperation.READ);
					assertThat(both.get(1).record()).isEqualTo(both.get(0).record());
					assertThat(both.get(1).unavailableColumns()).isEqualTo(both.get(0).unavailableColumns());
				}
			});
			database.dropSlot(this.slot);
		}
	}

	private ApplicationContextRunner application(TestDatabase database) {
		return BusApplication.on(database)
			.withPropertyValues("pgbus.capture.slot=" + this.slot, "pgbus.capture.standby-interval=200ms",
					"pgbus.listener.poll-interval=100ms");
	}

	private static boolean done(ApplicationContext context) {
		return context.getBean(BackfillOperations.class).list("items").get(0).state() == State.DONE;
	}

	private static long count(JdbcClient jdbc, String sql) {
		return jdbc.sql(sql).query(Long.class).single();
	}

	record Item(long id, String name) {

	}

	static class Items {

		static CountDownLatch reached = new CountDownLatch(1);

		static CountDownLatch goOn = new CountDownLatch(1);

		private final Queue<TableChange<Item>> changes = new ConcurrentLinkedQueue<>();

		@PgTableListener(group = "items", tables = @PgTable(name = "item", backfill = "select * from item"),
				operations = { TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE })
		void on(TableChange<Item> change) throws InterruptedException {
			reached.countDown();
			goOn.await();
			this.changes.add(change);
		}

		List<String> of(long id) {
			return this.changes.stream()
				.filter((change) -> change.requireRecord().id() == id)
				.map((change) -> change.operation() + " " + change.requireRecord().name())
				.toList();
		}

	}

	static class Maps {

		final Queue<TableChange<Map<String, Object>>> changes = new ConcurrentLinkedQueue<>();

		@PgTableListener(group = "items", tables = @PgTable(name = "item", backfill = "select * from item"),
				operations = TableOperation.INSERT)
		void on(TableChange<Map<String, Object>> change) {
			this.changes.add(change);
		}

	}

}
