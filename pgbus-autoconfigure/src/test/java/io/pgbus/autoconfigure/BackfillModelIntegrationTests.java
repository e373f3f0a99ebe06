package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;

import io.pgbus.BackfillInfo;
import io.pgbus.BackfillInfo.State;
import io.pgbus.BackfillOperations;
import io.pgbus.BackfillRequest;
import io.pgbus.DeliveryMode;
import io.pgbus.ListenedTable;
import io.pgbus.RetryPolicy;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A handler keeps a copy of a table which others insert into, update, delete from and
 * change the keys of, while backfills with tiny chunks run on two instances, one of which
 * is taken for dead and loses its connections again and again. The copy ends equal to the
 * table, no row goes back to an older version on the way, and no version comes twice.
 * <p>
 * Each version of a row has a number that is higher than those of all before.
 */
class BackfillModelIntegrationTests {

	private static final int ROWS = 300;

	private static final int CHANGES = 1500;

	private static final int KEYS = 600;

	private final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = JdbcClient.create(this.database.dataSource(20));

	private final String slot = "test_" + UUID.randomUUID().toString().replace("-", "");

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final AtomicBoolean over = new AtomicBoolean();

	@AfterEach
	void close() {
		this.over.set(true);
		this.threads.shutdownNow();
		await().ignoreExceptions()
			.untilAsserted(() -> this.jdbc.sql("""
					select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = ?""")
				.param(this.slot)
				.query()
				.listOfRows());
		this.database.close();
	}

	@Test
	void aCopyOfATableEndsEqualAndNeverGoesBack() throws Exception {
		this.jdbc.sql("create sequence number").update();
		this.jdbc.sql("create table thing (id bigint primary key, version bigint not null, name text)").update();
		this.jdbc.sql("create table copy (id bigint primary key, version bigint not null, name text)").update();
		this.jdbc.sql("create table seen (source bigint, id bigint, version bigint, operation text)").update();
		this.jdbc.sql("create index on seen (id, version)").update();
		this.jdbc.sql("create table highest (id bigint primary key, version bigint not null)").update();
		this.jdbc.sql("create table violation (what text)").update();
		this.jdbc.sql("insert into thing select n * 2 - 50, nextval('number'), 'first' from generate_series(1, ?) n")
			.param(ROWS)
			.update();
		application("steady").run((steady) -> application("shaky").run((shaky) -> {
			listen(steady);
			listen(shaky);
			List<Future<?>> writers = new ArrayList<>();
			for (int writer = 0; writer < 3; writer++) {
				writers.add(this.threads.submit(this::change));
			}
			Future<?> shaking = this.threads.submit(this::shake);
			BackfillOperations backfills = steady.getBean(BackfillOperations.class);
			awaitEnd(backfills);
			for (int replay = 0; replay < 3; replay++) {
				BackfillRequest request = BackfillRequest.of("thing");
				backfills.start("copy", (replay == 1) ? request.filter("id % 3 = 0") : request);
				awaitEnd(backfills);
			}
			for (Future<?> writer : writers) {
				writer.get();
			}
			this.over.set(true);
			shaking.get();
			await().atMost(Duration.ofMinutes(2))
				.untilAsserted(() -> assertThat(rows("copy")).isEqualTo(rows("thing")));
			assertThat(this.jdbc.sql("select what from violation").query(String.class).list()).isEmpty();
			await().untilAsserted(
					() -> assertThat(this.jdbc.sql("select * from pgbus.failed_event").query().listOfRows()).isEmpty());
			assertThat(this.jdbc.sql("select count(*) from seen where source > 0").query(Long.class).single())
				.isGreaterThan(ROWS);
			assertThat(
					this.jdbc.sql("select count(*) from pgbus.ledger where cursor_id < 0").query(Long.class).single())
				.isZero();
		}));
	}

	private void awaitEnd(BackfillOperations backfills) {
		await().atMost(Duration.ofMinutes(2))
			.until(() -> !backfills.list("copy").isEmpty()
					&& backfills.list("copy").stream().map(BackfillInfo::state).allMatch(State.DONE::equals));
	}

	private List<String> rows(String table) {
		return this.jdbc.sql("select t::text from " + table + " t order by id").query(String.class).list();
	}

	private ApplicationContextRunner application(String name) {
		return BusApplication.on(this.database)
			.withPropertyValues("spring.datasource.url=" + this.database.jdbcUrl() + "?ApplicationName=" + name,
					"pgbus.consumer.name=" + name, "pgbus.capture.slot=" + this.slot,
					"pgbus.capture.standby-interval=200ms", "pgbus.listener.poll-interval=100ms",
					"pgbus.listener.batch-size=3", "pgbus.backfill.chunk-rows=7");
	}

	private void listen(AssertableApplicationContext context) {
		JdbcClient client = context.getBean(JdbcClient.class);
		context.getBean(PgListenerContainerRegistry.class)
			.register(PgListenerEndpoint.id("copy")
				.group("copy")
				.tables(ListenedTable.of("thing")
					.operations(TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE)
					.backfill("select * from thing"))
				.concurrency(2)
				.delivery(DeliveryMode.EXACTLY_ONCE)
				.retry(new RetryPolicy(1000, Duration.ofMillis(5), 1, Duration.ofMillis(5), 0,
						RetryPolicy.DEFAULT.notRetried(), RetryPolicy.OnDead.CONTINUE))
				.onChange(Thing.class, (change) -> copy(client, change)));
	}

	private static void copy(JdbcClient client, TableChange<Thing> change) {
		Thing thing = change.record();
		if (thing == null) {
			long id = ((Number) Objects.requireNonNull(change.key().get("id"))).longValue();
			client.sql("delete from copy where id = ?").param(id).update();
			client.sql("insert into seen values (0, ?, null, 'DELETE')").param(id).update();
			return;
		}
		long source = (change.backfill() != null) ? change.backfill() : 0;
		check(client, change, thing, (source == 0) ? "select count(*) from seen where id = :id and version = :version"
				: "select count(*) from seen where source = :source and id = :id", source, "comes twice");
		check(client, change, thing, "select count(*) from highest where id = :id and version > :version", source,
				"goes back");
		client.sql("insert into seen values (?, ?, ?, ?)")
			.params(source, thing.id(), thing.version(), change.operation().name())
			.update();
		client.sql("""
				insert into highest as h values (?, ?) on conflict (id) do update
				set version = greatest(h.version, excluded.version)""").params(thing.id(), thing.version()).update();
		client.sql("""
				insert into copy values (?, ?, ?) on conflict (id) do update
				set version = excluded.version, name = excluded.name""")
			.params(thing.id(), thing.version(), thing.name())
			.update();
		if (ThreadLocalRandom.current().nextInt(40) == 0) {
			throw new IllegalStateException("A bad day");
		}
	}

	private static void check(JdbcClient client, TableChange<Thing> change, Thing thing, String sql, long source,
			String what) {
		long found = client.sql(sql)
			.param("source", source)
			.param("id", thing.id())
			.param("version", thing.version())
			.query(Long.class)
			.single();
		if (found > 0) {
			client.sql("insert into violation values (?)")
				.param(change.operation() + " of " + thing + " from " + source + " " + what)
				.update();
		}
	}

	private void change() {
		Random random = ThreadLocalRandom.current();
		for (int n = 0; n < CHANGES / 3; n++) {
			long id = random.nextInt(KEYS) - 50;
			try {
				switch (random.nextInt(10)) {
					case 0, 1 ->
						this.jdbc.sql("insert into thing values (?, nextval('number'), 'new')").param(id).update();
					case 2 -> this.jdbc.sql("delete from thing where id = ?").param(id).update();
					case 3, 4 -> this.jdbc.sql("update thing set id = ?, version = nextval('number') where id = ?")
						.params(random.nextInt(KEYS) - 50, id)
						.update();
					default -> this.jdbc.sql("update thing set version = nextval('number'), name = ? where id = ?")
						.params("name " + n, id)
						.update();
				}
			}
			catch (DataAccessException ex) {
				assertThat(ex).hasMessageContaining("thing_pkey");
			}
		}
	}

	/** One instance is buried while it lives, and loses its connections. */
	private void shake() {
		while (!this.over.get()) {
			this.jdbc.sql("delete from pgbus.consumer where name = 'shaky'").update();
			this.jdbc.sql("""
					select count(pg_terminate_backend(pid)) from pg_stat_activity
					where application_name = 'shaky' and datname = current_database() and random() < 0.5""")
				.query(Long.class)
				.single();
			await().pollDelay(Duration.ofMillis(ThreadLocalRandom.current().nextInt(100, 400))).until(() -> true);
		}
	}

	record Thing(long id, long version, String name) {

	}

}
