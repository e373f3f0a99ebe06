package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A handler keeps a copy of a table which others insert into, update, delete from and
 * change the keys of, while backfills with tiny chunks run on two instances, one of which
 * is taken for dead and loses its connections again and again. The copy ends equal to the
 * table, no row goes back to an older version on the way, and no version comes twice.
 */
class BackfillModelIntegrationTests {

	private static final int ROWS = 300;

	private static final int CHANGES = 1500;

	private static final int KEYS = 600;

	private final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = JdbcClient.create(this.database.dataSource(20));

	private final CopyModel model = new CopyModel(this.jdbc, KEYS);

	private final String slot = "test_" + UUID.randomUUID().toString().replace("-", "");

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final AtomicBoolean over = new AtomicBoolean();

	@AfterEach
	void close() {
		this.over.set(true);
		this.threads.shutdownNow();
		this.database.dropSlot(this.slot);
		this.database.close();
	}

	@Test
	void aCopyOfATableEndsEqualAndNeverGoesBack() throws Exception {
		this.model.createTables(ROWS);
		application("steady").run((steady) -> application("shaky").run((shaky) -> {
			CopyModel.listen(steady);
			CopyModel.listen(shaky);
			List<Future<?>> writers = new ArrayList<>();
			for (int writer = 0; writer < 3; writer++) {
				writers.add(this.threads.submit(() -> this.model.change(CHANGES / 3)));
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
				.untilAsserted(() -> assertThat(this.model.rows("copy")).isEqualTo(this.model.rows("thing")));
			assertThat(this.model.violations()).isEmpty();
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

	private ApplicationContextRunner application(String name) {
		return BusApplication.on(this.database)
			.withPropertyValues("spring.datasource.url=" + this.database.jdbcUrl() + "?ApplicationName=" + name,
					"pgbus.consumer.name=" + name, "pgbus.capture.slot=" + this.slot,
					"pgbus.capture.standby-interval=200ms", "pgbus.listener.poll-interval=100ms",
					"pgbus.listener.batch-size=3", "pgbus.backfill.chunk-rows=7");
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

}
