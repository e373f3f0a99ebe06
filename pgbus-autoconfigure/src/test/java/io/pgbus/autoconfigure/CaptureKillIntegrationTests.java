package io.pgbus.autoconfigure;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
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

import io.pgbus.listener.InstanceProcess;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The application that captures is killed (SIGKILL) at random points, again and again,
 * most of them within one large transaction, while small ones go on. Another application
 * stands by.
 * <p>
 * There is one large transaction, or <code>-Dpgbus.capture.rounds=n</code> of them, with
 * about <code>-Dpgbus.capture.kills=n</code> kills in each. The seed is logged;
 * <code>-Dpgbus.chaos.seed=n</code> repeats it as far as the processes let it.
 */
class CaptureKillIntegrationTests {

	private static final Logger logger = LoggerFactory.getLogger(CaptureKillIntegrationTests.class);

	private static final int ROUNDS = Integer.getInteger("pgbus.capture.rounds", 1);

	private static final int KILLS = Integer.getInteger("pgbus.capture.kills", 4);

	private static final int LARGE = 200_000;

	/** How often a large transaction changes a row, from its insert on. */
	private static final int CHANGES = 4;

	private static final int SMALL_KEYS = 20;

	/** Of small transactions there are no more than are delivered after a while. */
	private static final int MAX_SMALL = 2000;

	private final long seed = Long.getLong("pgbus.chaos.seed", System.nanoTime());

	private final Random random = new Random(this.seed);

	private final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = this.database.jdbc();

	private final String slot = this.database.name().replace("pgbus_test", "test");

	private final Map<String, InstanceProcess> instances = new LinkedHashMap<>();

	private final ExecutorService threads = Executors.newSingleThreadExecutor();

	private final AtomicBoolean writing = new AtomicBoolean(true);

	private int started;

	@AfterEach
	void close() throws Exception {
		this.writing.set(false);
		this.threads.shutdownNow();
		this.instances.values().forEach(InstanceProcess::close);
		this.database.dropSlot(this.slot);
		this.database.close();
	}

	@Test
	void eachChangeIsHandledOnceInTheOrderOfItsRowThoughWhoCapturesIsKilled() throws Exception {
		logger.info("Captures are killed with -Dpgbus.chaos.seed={}", this.seed);
		CapturingMain.createTables(this.jdbc);
		startMissing();
		await().atMost(Duration.ofMinutes(2)).ignoreExceptions().until(() -> isAlive(holder()));
		long seed = this.random.nextLong();
		Future<?> writer = this.threads.submit(() -> writeSmall(new Random(seed)));
		int kills = 0;
		for (int round = 1; round <= ROUNDS; round++) {
			kills += killWhileCapturing(round);
		}
		this.writing.set(false);
		writer.get();
		awaitAll();
		// what would come twice comes before this
		this.jdbc.sql("update counter set n = n + 1 where key <= ?").param(SMALL_KEYS).update();
		awaitAll();
		logger.info("{} changes, {} kills, seed {}", delivered(), kills, this.seed);
		assertThat(kills).as("kills with seed %s", this.seed).isPositive();
		assertThat(outOfOrder()).as("repeated, missing or out of order with seed %s", this.seed).isEmpty();
	}

	private int killWhileCapturing(int round) {
		long end = captured() + LARGE;
		writeLarge(round);
		int kills = 0;
		while (true) {
			long next = captured() + 1 + this.random.nextInt(Math.min(LARGE / 2, 2 * LARGE / KILLS));
			if (next >= end) {
				return kills;
			}
			await().pollInterval(Duration.ofMillis(10)).until(() -> captured() >= next && isAlive(holder()));
			String victim = holder();
			logger.info("{} is killed", victim);
			this.instances.remove(victim).kill();
			kills++;
			startMissing();
		}
	}

	private void startMissing() {
		while (this.instances.size() < 2) {
			String name = "instance-" + ++this.started;
			this.instances.put(name,
					CapturingMain.start(this.database, "160m", "pgbus.consumer.name=" + name,
							"pgbus.capture.slot=" + this.slot, "pgbus.capture.standby-interval=200ms",
							"pgbus.capture.trim-interval=1s", "pgbus.listener.batch-size=1000"));
		}
	}

	private void writeLarge(int round) {
		try (Connection connection = this.database.connect(); Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			int rows = LARGE / CHANGES;
			int first = 1000 + round * rows;
			statement.execute("insert into counter select k, 0 from generate_series(%d, %d) k".formatted(first,
					first + rows - 1));
			for (int i = 1; i < CHANGES; i++) {
				statement.execute("update counter set n = n + 1 where key >= " + first);
			}
			connection.commit();
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/** One in five is rolled back. */
	private Void writeSmall(Random random) throws SQLException {
		try (Connection connection = this.database.connect(); Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			for (int i = 0; i < MAX_SMALL * ROUNDS && this.writing.get(); i++) {
				for (int j = random.nextInt(4); j >= 0; j--) {
					statement
						.execute("insert into counter values (%d, 0) on conflict (key) do update set n = counter.n + 1"
							.formatted(1 + random.nextInt(SMALL_KEYS)));
				}
				statement.execute("select pg_sleep(0.01)");
				if (random.nextInt(5) == 0) {
					connection.rollback();
				}
				else {
					connection.commit();
				}
			}
		}
		return null;
	}

	private boolean isAlive(String name) {
		InstanceProcess instance = this.instances.get(name);
		return instance != null && instance.isAlive();
	}

	private String holder() {
		return this.jdbc.sql("select holder from pgbus.capture_state").query(String.class).single();
	}

	/** How many events there were: each change is one. */
	private long captured() {
		return this.jdbc.sql("select last_value from pgbus.event_id").query(Long.class).single();
	}

	private long delivered() {
		return this.jdbc.sql("select count(*) from delivered").query(Long.class).single();
	}

	private void awaitAll() {
		long changes = this.jdbc.sql("select sum(n + 1) from counter").query(Long.class).single();
		await().atMost(Duration.ofMinutes(3)).until(() -> delivered() >= changes);
	}

	private List<String> outOfOrder() {
		return new ArrayList<>(this.jdbc.sql("""
				with d as (
					select key, n, lag(n, 1, -1) over (partition by key order by ordinal) as before,
						operation = case n when 0 then 'INSERT' else 'UPDATE' end as is_right
					from delivered
				), last as (select key, count(*) as changes from delivered group by key)
				select key || ': ' || n || ' after ' || before from d where n <> before + 1 or not is_right
				union all
				select key || ': ' || changes || ' changes' from counter left join last using (key)
				where changes is distinct from n + 1
				limit 20""").query(String.class).list());
	}

}
