package io.pgbus.listener;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.pgbus.DeliveryMode;
import io.pgbus.OutgoingEvent;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.CaptureCheckpoint;
import io.pgbus.store.CaptureStore;
import io.pgbus.store.TableListenerStore;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The tables that change all the time stay small under a load that lasts: publishing,
 * groups of both modes, failures and retries, heartbeats, and the state of a capture.
 * With a snapshot open all the while they cannot, but claims stay cheap, which is counted
 * in buffers.
 * <p>
 * Each runs for about 15 seconds on a server that vacuums every second, or with
 * <code>-Dpgbus.bloat.minutes=n</code> for n on one that does so as by default.
 */
class BloatIntegrationTests {

	private static final Logger logger = LoggerFactory.getLogger(BloatIntegrationTests.class);

	private static final Integer MINUTES = Integer.getInteger("pgbus.bloat.minutes");

	private static final int WINDOWS = 5;

	private static final long WINDOW_SECONDS = (MINUTES != null) ? TimeUnit.MINUTES.toSeconds(MINUTES) / WINDOWS : 3;

	private static final int FAILS_ONE_OF = 20;

	/** Between two rounds of autovacuum they may grow so many times more. */
	private static final long FACTOR = (MINUTES != null) ? 16 : 1;

	/** The most kilobytes that a table may have, with its indexes. */
	private static final Map<String, Long> BOUNDS = Map.of("cursor_state", 4096L, "ledger", 8192L, "failed_event",
			4096L, "consumer", 256L, "member", 256L, "capture_state", 2048L);

	private final ExecutorService threads = Executors.newCachedThreadPool();

	/** How many events may be published: no more than were handled, but for a few. */
	private final Semaphore backlog = new Semaphore(200);

	private volatile boolean running = true;

	@AfterEach
	void close() throws InterruptedException {
		this.running = false;
		this.backlog.release(1000);
		this.threads.shutdown();
		assertThat(this.threads.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void tablesThatChangeAllTheTimeStaySmall() {
		try (OwnServer server = startServer(); TestBus bus = new TestBus(server.createDatabase())) {
			load(bus);
			Map<String, Long> largest = new LinkedHashMap<>();
			for (int window = 0; window < WINDOWS; window++) {
				pause(bus);
				sizes(bus).forEach((table, size) -> largest.merge(table, size, Math::max));
				logger.info("{} events, {} kB", count(bus, "select last_value from pgbus.event_id"), sizes(bus));
			}
			stop(bus);
			assertThat(largest).hasSize(BOUNDS.size())
				.allSatisfy((table, size) -> assertThat(size).as(table).isLessThan(FACTOR * BOUNDS.get(table)));
			assertThat(count(bus, """
					select 100 * n_tup_hot_upd / n_tup_upd from pg_stat_user_tables
					where relid = 'pgbus.consumer'::regclass""")).as("heartbeats that touch no index, in percent")
				.isGreaterThan(90);
		}
	}

	@Test
	void claimsStayCheapWhileAnOldSnapshotKeepsTheDead() throws SQLException {
		try (OwnServer server = startServer();
				TestBus bus = new TestBus(server.createDatabase());
				Connection reading = bus.testDatabase.connect();
				Statement statement = reading.createStatement()) {
			reading.setAutoCommit(false);
			reading.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
			statement.execute("select count(*) from pgbus.event");
			load(bus);
			List<Counts> windows = new ArrayList<>();
			Counts before = counts(bus);
			for (int window = 0; window < WINDOWS; window++) {
				pause(bus);
				Counts now = counts(bus);
				windows.add(now.since(before));
				logger.info("{}, {} kB", windows.get(window), sizes(bus));
				before = now;
			}
			stop(bus);
			Counts first = windows.get(0);
			Counts last = windows.get(WINDOWS - 1);
			assertThat(last.perChange(last.states())).as("buffers of states per change of a cursor")
				.isLessThan(2 * first.perChange(first.states()) + 20);
			long failed = windows.stream().mapToLong(Counts::failed).sum();
			assertThat(last.perChange(last.failures())).as("buffers of failures per change of a cursor")
				.isLessThan(2 * first.perChange(first.failures()) + 20 + failed);
			reading.rollback();
		}
	}

	private static OwnServer startServer() {
		return TestDatabase.startOwnServer(Map.of("autovacuum", "on", "autovacuum_naptime",
				(MINUTES != null) ? "1min" : "1s", "track_counts", "on"));
	}

	private void load(TestBus bus) {
		for (int n = 0; n < 2; n++) {
			TestBus.Instance instance = bus.instance(Duration.ofMillis(600));
			for (DeliveryMode mode : DeliveryMode.values()) {
				instance.registry.register(PgListenerEndpoint.id(mode.name())
					.streams("s")
					.delivery(mode)
					.onEvent(Integer.class, (event) -> {
						if (event.payload() % FAILS_ONE_OF == 0 && event.attempt() < 3) {
							throw new IllegalStateException("Not yet");
						}
						if (mode == DeliveryMode.EXACTLY_ONCE) {
							this.backlog.release();
						}
					}));
			}
			int from = n * 1_000_000_000;
			this.threads.submit(() -> publish(instance, from));
		}
		BusDatabase database = new BusDatabase(bus.dataSource, "pgbus");
		CaptureStore capture = new CaptureStore(database, new TableListenerStore(database), Duration.ofSeconds(1));
		this.threads.submit(() -> capture(bus, capture));
	}

	private void publish(TestBus.Instance instance, int from) {
		for (int number = from; this.running; number += 10) {
			this.backlog.acquireUninterruptibly(10);
			int first = number;
			instance.publisher.publishAll(IntStream.range(first, first + 10)
				.mapToObj((i) -> OutgoingEvent.to("s").key("k" + i % 50).payload(i))
				.toList());
		}
	}

	private void capture(TestBus bus, CaptureStore capture) {
		CaptureCheckpoint checkpoint = capture.begin("test", "slot", "1", 1);
		for (long lsn = 2; this.running; lsn++) {
			checkpoint = capture.confirm(checkpoint, lsn);
			bus.jdbc.sql("select pg_sleep(0.005)").query().listOfRows();
		}
	}

	private void stop(TestBus bus) {
		this.running = false;
		this.backlog.release(1000);
		assertThat(count(bus, "select last_value from pgbus.event_id")).as("events").isGreaterThan(1000);
	}

	private static void pause(TestBus bus) {
		bus.jdbc.sql("select pg_sleep(?)").param(WINDOW_SECONDS).query().listOfRows();
	}

	private static Map<String, Long> sizes(TestBus bus) {
		Map<String, Long> sizes = new LinkedHashMap<>();
		bus.jdbc.sql("""
				select relname, pg_total_relation_size(oid) / 1024 as size from pg_class
				where relnamespace = 'pgbus'::regnamespace and relname = any(?) order by 1""")
			.param(BOUNDS.keySet().toArray(new String[0]))
			.query((row, index) -> sizes.put(row.getString(1), row.getLong(2)))
			.list();
		return sizes;
	}

	private static long count(TestBus bus, String sql) {
		return bus.jdbc.sql(sql).query(Long.class).single();
	}

	private static Counts counts(TestBus bus) {
		return bus.jdbc
			.sql("""
					select (select n_tup_ins from pg_stat_user_tables where relid = 'pgbus.cursor_state'::regclass) as changes,
						(select n_tup_ins from pg_stat_user_tables where relid = 'pgbus.failed_event'::regclass) as failed,
						sum(buffers) filter (where relname = 'cursor_state') as states,
						sum(buffers) filter (where relname = 'failed_event') as failures,
						sum(buffers) filter (where relname = 'consumer') as consumers
					from (
						select relname, heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read as buffers
						from pg_statio_user_tables where schemaname = 'pgbus'
					) t""")
			.query((row, index) -> new Counts(row.getLong("changes"), row.getLong("failed"), row.getLong("states"),
					row.getLong("failures"), row.getLong("consumers")))
			.single();
	}

	/**
	 * What has happened so far.
	 *
	 * @param changes how often a cursor was claimed, advanced or released
	 * @param failed how many events have failed
	 * @param states how many buffers with states of cursors were looked at
	 * @param failures how many buffers with failures were looked at
	 * @param consumers how many buffers with consumers were looked at
	 */
	private record Counts(long changes, long failed, long states, long failures, long consumers) {

		Counts since(Counts before) {
			return new Counts(this.changes - before.changes, this.failed - before.failed, this.states - before.states,
					this.failures - before.failures, this.consumers - before.consumers);
		}

		double perChange(long buffers) {
			return (double) buffers / this.changes;
		}

		@Override
		public String toString() {
			return "%d changes of cursors, %d failures; buffers per change: %.1f of states, %.1f of failures, %.1f of consumers"
				.formatted(this.changes, this.failed, perChange(this.states), perChange(this.failures),
						perChange(this.consumers));
		}

	}

}
