package io.pgbus.listener;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

import io.pgbus.DeliveryMode;
import io.pgbus.OutgoingEvent;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Transactions that stay open beside full load, as a forgotten session or a dump do:
 * nothing that dies can be cleaned up meanwhile. Delivery must neither wait for them nor
 * step over what is dead. What the latter costs is counted in buffers, not in time.
 * <p>
 * Runs for about 15 seconds, or with <code>-Dpgbus.holders.minutes=n</code> for n.
 */
class OldSnapshotIntegrationTests {

	private static final Logger logger = LoggerFactory.getLogger(OldSnapshotIntegrationTests.class);

	private static final int WINDOWS = 5;

	private static final long WINDOW_SECONDS = (Integer.getInteger("pgbus.holders.minutes") != null)
			? TimeUnit.MINUTES.toSeconds(Integer.getInteger("pgbus.holders.minutes")) / WINDOWS : 3;

	private final TestBus bus = new TestBus();

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Set<Integer> handled = ConcurrentHashMap.newKeySet();

	private final AtomicLong deliveries = new AtomicLong();

	private final AtomicInteger numbers = new AtomicInteger();

	/** How many events may be published: no more than were handled, but for a few. */
	private final Semaphore backlog = new Semaphore(200);

	private volatile boolean publishing = true;

	@AfterEach
	void close() throws InterruptedException {
		this.publishing = false;
		this.backlog.release(1000);
		this.threads.shutdown();
		assertThat(this.threads.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
		this.bus.close();
	}

	@Test
	void transactionsThatStayOpenNeitherStopDeliveryNorMakeItStepOverTheDead() throws SQLException {
		TestBus.Instance instance = this.bus.instance();
		for (DeliveryMode mode : DeliveryMode.values()) {
			instance.registry.register(
					PgListenerEndpoint.id(mode.name()).streams("s").delivery(mode).onEvent(Integer.class, (event) -> {
						this.deliveries.incrementAndGet();
						if (mode == DeliveryMode.EXACTLY_ONCE) {
							this.handled.add(event.payload());
							this.backlog.release();
						}
					}));
		}
		try (Connection writing = this.bus.testDatabase.connect();
				Connection reading = this.bus.testDatabase.connect()) {
			writing.setAutoCommit(false);
			execute(writing, "select pgbus.publish('s', 'left-open', 'Integer', '-1')");
			reading.setAutoCommit(false);
			reading.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
			execute(reading, "select count(*) from pgbus.event");
			for (int i = 0; i < 2; i++) {
				this.threads.submit(() -> publish(instance));
			}
			List<Counts> counts = new ArrayList<>();
			counts.add(count());
			for (int window = 0; window < WINDOWS; window++) {
				this.bus.jdbc.sql("select pg_sleep(?)").param(WINDOW_SECONDS).query().listOfRows();
				counts.add(count());
				logger.info("{}", counts.get(window + 1).since(counts.get(window)));
			}
			Counts first = counts.get(1).since(counts.get(0));
			Counts last = counts.get(WINDOWS).since(counts.get(WINDOWS - 1));
			assertThat(counts).extracting(Counts::deliveries).isSorted().doesNotHaveDuplicates();
			assertThat(
					this.bus.jdbc.sql("select sum(n_dead_tup) from pg_stat_user_tables where relname = 'cursor_state'")
						.query(Long.class)
						.single())
				.as("dead versions")
				.isGreaterThan(100);
			assertThat(last.buffersPerChange()).as("buffers per change of a cursor")
				.isLessThan(first.buffersPerChange() * 2 + 20);
			assertThat(last.buffersPerEntry()).as("buffers per entry in the ledger")
				.isLessThan(first.buffersPerEntry() * 2 + 20);
			this.publishing = false;
			await().atMost(30, TimeUnit.SECONDS).untilAsserted(() -> assertThat(missing()).isEmpty());
			assertThat(this.handled).doesNotContain(-1);
			writing.commit();
			await().atMost(30, TimeUnit.SECONDS).untilAsserted(() -> assertThat(this.handled).contains(-1));
			reading.rollback();
		}
	}

	private void publish(TestBus.Instance instance) {
		while (this.publishing) {
			this.backlog.acquireUninterruptibly(10);
			if (this.publishing) {
				int from = this.numbers.getAndAdd(10);
				instance.publisher.publishAll(IntStream.range(from, from + 10)
					.mapToObj((i) -> OutgoingEvent.to("s").key("k" + i % 50).payload(i))
					.toList());
			}
		}
	}

	private List<Integer> missing() {
		return IntStream.range(0, this.numbers.get()).filter((n) -> !this.handled.contains(n)).boxed().toList();
	}

	private Counts count() {
		return this.bus.jdbc
			.sql("""
					select (select n_tup_ins from pg_stat_user_tables where relid = 'pgbus.cursor_state'::regclass) as changes,
						(select n_tup_ins from pg_stat_user_tables where relid = 'pgbus.ledger'::regclass) as entries,
						sum(buffers) filter (where relname = 'cursor_state') as cursor_buffers,
						sum(buffers) filter (where relname = 'ledger') as ledger_buffers
					from (
						select relname, heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read as buffers
						from pg_statio_user_tables where schemaname = 'pgbus'
					) t""")
			.query((row, index) -> new Counts(this.deliveries.get(), row.getLong("changes"), row.getLong("entries"),
					row.getLong("cursor_buffers"), row.getLong("ledger_buffers")))
			.single();
	}

	private static void execute(Connection connection, String sql) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute(sql);
		}
	}

	/**
	 * What has happened so far.
	 *
	 * @param deliveries how often a handler was called
	 * @param changes how often a cursor was claimed, advanced or released
	 * @param entries how many rows went into the ledger
	 * @param cursorBuffers how many buffers with states of cursors were looked at
	 * @param ledgerBuffers how many buffers of the ledger were looked at
	 */
	private record Counts(long deliveries, long changes, long entries, long cursorBuffers, long ledgerBuffers) {

		Counts since(Counts before) {
			return new Counts(this.deliveries - before.deliveries, this.changes - before.changes,
					this.entries - before.entries, this.cursorBuffers - before.cursorBuffers,
					this.ledgerBuffers - before.ledgerBuffers);
		}

		double buffersPerChange() {
			return (double) this.cursorBuffers / this.changes;
		}

		double buffersPerEntry() {
			return (double) this.ledgerBuffers / this.entries;
		}

		@Override
		public String toString() {
			return "%d deliveries, %d changes of cursors with %.1f buffers each, %d entries in the ledger with %.1f"
				.formatted(this.deliveries, this.changes, buffersPerChange(), this.entries, buffersPerEntry());
		}

	}

}
