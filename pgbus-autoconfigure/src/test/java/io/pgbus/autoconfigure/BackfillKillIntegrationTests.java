package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

import io.pgbus.BackfillRequest;
import io.pgbus.listener.InstanceProcess;
import io.pgbus.store.BackfillSettings;
import io.pgbus.store.BackfillStore;
import io.pgbus.store.BusDatabase;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two applications keep a copy of a table, by backfills and by changes that others make
 * meanwhile. The one that is at a chunk is killed (SIGKILL), again and again:
 * <code>-Dpgbus.backfill.kills=n</code> times. The copy ends equal to the table, no row
 * goes back to an older version on the way, and no version comes twice.
 * <p>
 * The seed is logged; <code>-Dpgbus.chaos.seed=n</code> repeats it as far as the
 * processes let it.
 */
class BackfillKillIntegrationTests {

	private static final Logger logger = LoggerFactory.getLogger(BackfillKillIntegrationTests.class);

	private static final int KILLS = Integer.getInteger("pgbus.backfill.kills", 3);

	private static final int ROWS = 1000;

	private static final int CHANGES_AT_ONCE = 100;

	private static final int WRITERS = 2;

	private final long seed = Long.getLong("pgbus.chaos.seed", System.nanoTime());

	private final Random random = new Random(this.seed);

	private final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = this.database.jdbc();

	private final CopyModel model = new CopyModel(this.jdbc, 2 * ROWS);

	private final BackfillStore backfills = new BackfillStore(new BusDatabase(this.database.dataSource(), "pgbus"),
			new BackfillSettings(20, 1 << 20, null, Duration.ofMinutes(1)));

	private final String slot = this.database.name().replace("pgbus_test", "test");

	private final Map<String, InstanceProcess> instances = new LinkedHashMap<>();

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final AtomicBoolean writing = new AtomicBoolean(true);

	private int started;

	@AfterEach
	void close() {
		this.writing.set(false);
		this.threads.shutdownNow();
		this.instances.values().forEach(InstanceProcess::close);
		this.database.dropSlot(this.slot);
		this.database.close();
	}

	@Test
	void aCopyOfATableEndsEqualAndNeverGoesBackThoughWhoReadsItIsKilled() throws Exception {
		logger.info("Readers are killed with -Dpgbus.chaos.seed={}", this.seed);
		this.model.createTables(ROWS);
		startMissing();
		await().atMost(Duration.ofMinutes(2)).ignoreExceptions().until(() -> count("select count(*) from seen") > 0);
		List<Future<?>> writers = new ArrayList<>();
		for (int writer = 0; writer < WRITERS; writer++) {
			writers.add(this.threads.submit(this::write));
		}
		int killed = 0;
		while (killed < KILLS) {
			if (count("select count(*) from pgbus.backfill where state <> 'done'") == 0) {
				this.backfills.start("copy", BackfillRequest.of("thing"));
			}
			long after = count("select count(*) from seen where source > 0") + 20 + this.random.nextInt(ROWS / 2);
			await().atMost(Duration.ofMinutes(2))
				.pollInterval(Duration.ofMillis(10))
				.until(() -> count("select count(*) from seen where source > 0") >= after
						|| count("select count(*) from pgbus.backfill where state <> 'done'") == 0);
			String reader = reader();
			InstanceProcess victim = this.instances.remove(reader);
			if (victim != null) {
				logger.info("{} is killed", reader);
				victim.kill();
				killed++;
				startMissing();
			}
		}
		this.writing.set(false);
		for (Future<?> writer : writers) {
			writer.get();
		}
		await().atMost(Duration.ofMinutes(3))
			.until(() -> count("select count(*) from pgbus.backfill where state <> 'done'") == 0);
		await().atMost(Duration.ofMinutes(3))
			.untilAsserted(() -> assertThat(this.model.rows("copy")).isEqualTo(this.model.rows("thing")));
		assertThat(this.model.violations()).as("with seed %s", this.seed).isEmpty();
		logger.info("{} rows read, {} changes, {} kills", count("select count(*) from seen where source > 0"),
				count("select count(*) from seen where source = 0"), killed);
	}

	private void write() {
		while (this.writing.get() && count("select count(*) from seen where source = 0") < 2000L * KILLS) {
			this.model.change(CHANGES_AT_ONCE);
		}
	}

	/** Who is at a chunk, or nobody. */
	private String reader() {
		return this.jdbc.sql("""
				select coalesce(max(k.name), 'nobody')
				from pgbus.cursor_state s join pgbus.consumer k on k.id = s.owner where s.cursor_id < 0""")
			.query(String.class)
			.single();
	}

	private long count(String sql) {
		return this.jdbc.sql(sql).query(Long.class).single();
	}

	private void startMissing() {
		while (this.instances.size() < 2) {
			String name = "instance-" + ++this.started;
			this.instances.put(name,
					CopyingMain.start(this.database, "pgbus.consumer.name=" + name, "pgbus.capture.slot=" + this.slot,
							"pgbus.capture.standby-interval=200ms", "pgbus.listener.poll-interval=100ms",
							"pgbus.listener.batch-size=3", "pgbus.backfill.chunk-rows=20",
							"pgbus.consumer.timeout=5s"));
		}
	}

}
