package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import io.pgbus.listener.InstanceProcess;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.SchemaInitializer;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.OwnServer.StopMode;
import io.pgbus.testing.TcpProxy;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two instances carry events from an outbox to a bus on another server and handle them
 * from there, while they are killed (SIGKILL), either server is killed, and the network
 * between them is cut or loses answers.
 * <p>
 * There are 8 such faults, or <code>-Dpgbus.outbox.faults=n</code>. The seed is logged;
 * <code>-Dpgbus.chaos.seed=n</code> repeats it as far as the processes let it.
 */
class OutboxTrialsIntegrationTests {

	private static final Logger logger = LoggerFactory.getLogger(OutboxTrialsIntegrationTests.class);

	private static final int FAULTS = Integer.getInteger("pgbus.outbox.faults", 8);

	private static final int KEYS = 6;

	private static final int WRITERS = 2;

	private static final String OUT_OF_ORDER = """
			select e.key, e.n, e.ordinal_in_key
			from (
				select e.key, coalesce(e.payload -> 'record' ->> 'n', e.payload::text)::int as n,
					row_number() over (partition by e.key order by e.id) as ordinal_in_key
				from pgbus.event e
			) e
			where e.n <> e.ordinal_in_key
			order by 1, 3 limit 10
			""";

	private static final String MISSING_OR_DOUBLE = """
			select key, n, count(*) from handled group by key, n having count(*) > 1
			union all
			select key, max(n), count(*) from handled group by key having count(*) <> max(n)
			""";

	private final long seed = Long.getLong("pgbus.chaos.seed", System.nanoTime());

	private final Random random = new Random(this.seed);

	private final OwnServer dataServer = TestDatabase.startOwnServer(Map.of());

	private final OwnServer busServer = TestDatabase.startOwnServer(Map.of());

	private final TestDatabase data = this.dataServer.createDatabase();

	private final TestDatabase bus = this.busServer.createDatabase();

	private final TcpProxy network = TcpProxy.start(this.bus);

	private final List<InstanceProcess> instances = new ArrayList<>();

	private final ExecutorService threads = Executors.newFixedThreadPool(WRITERS);

	/** What is published of the row whose number is the next one. */
	private String write = "";

	private List<String> properties = List.of();

	private final AtomicBoolean writing = new AtomicBoolean(true);

	private final AtomicInteger published = new AtomicInteger();

	private final AtomicLong carried = new AtomicLong();

	private final AtomicInteger mayWait = new AtomicInteger(1000);

	@AfterEach
	void close() {
		this.writing.set(false);
		this.threads.shutdownNow();
		this.instances.forEach(InstanceProcess::close);
		this.network.close();
		this.dataServer.close();
		this.busServer.close();
	}

	@Test
	void eachEventIsOnTheBusOnceInTheOrderOfItsKeyAndHandledOnce() throws Exception {
		this.write = "select pgbus_outbox.publish('" + OutboxMain.STREAM + "', key, 'Integer', to_jsonb(n)) from next";
		run();
	}

	@Test
	void eachChangeOfATableIsHandledOnceAndOnTheBusOnceInTheOrderOfItsKey() throws Exception {
		this.write = "select n::bigint from next";
		this.properties = List.of("pgbus.table-listeners." + OutboxMain.TABLE_GROUP + ".tables[0].name=written",
				"pgbus.table-listeners." + OutboxMain.TABLE_GROUP + ".tables[0].operations=update",
				"pgbus.outbox.streams.changes.tables[0].name=written",
				"pgbus.outbox.streams.changes.tables[0].operations=update", "pgbus.capture.standby-interval=200ms",
				"pgbus.capture.batch-rows=50");
		run();
	}

	private void run() throws Exception {
		logger.info("Faults come with -Dpgbus.chaos.seed={}", this.seed);
		new SchemaInitializer(new BusDatabase(this.data.dataSource(), PgBusOutboxProperties.DEFAULT_SCHEMA)).migrate();
		new SchemaInitializer(new BusDatabase(this.bus.dataSource(), "pgbus")).migrate();
		this.data.jdbc()
			.sql("create table handled (key text, n int); create table written (key text primary key, n int)")
			.update();
		for (int key = 0; key < KEYS; key++) {
			this.data.jdbc().sql("insert into written values (?, 0)").param("k" + key).update();
		}
		startMissing();
		if (!this.properties.isEmpty()) {
			await().atMost(Duration.ofMinutes(1))
				.until(() -> this.data.jdbc()
					.sql("select exists (select from pgbus_outbox.capture_state) and count(*) = 2 "
							+ "from pgbus_outbox.table_listener")
					.query(Boolean.class)
					.single());
		}
		List<Future<?>> writers = new ArrayList<>();
		for (int writer = 0; writer < WRITERS; writer++) {
			int first = writer;
			writers.add(this.threads.submit(() -> write(first)));
		}
		for (int fault = 0; fault < FAULTS; fault++) {
			awaitCarried(200);
			fault();
		}
		awaitCarried(200);
		this.writing.set(false);
		for (Future<?> writer : writers) {
			writer.get();
		}
		long expected = this.data.jdbc().sql("select sum(n) from written").query(Long.class).single();
		logger.info("{} events, seed {}", expected, this.seed);
		await().atMost(Duration.ofMinutes(2)).ignoreExceptions().untilAsserted(() -> {
			startMissing();
			assertThat(carried()).isGreaterThanOrEqualTo(expected);
			assertThat(this.data.jdbc().sql("select count(*) from handled").query(Long.class).single())
				.isGreaterThanOrEqualTo(expected);
		});
		// what would come twice comes before the last
		assertThat(carried()).as("carried with seed %s", this.seed).isEqualTo(expected);
		assertThat(this.bus.jdbc().sql(OUT_OF_ORDER).query().listOfRows()).as("with seed %s", this.seed).isEmpty();
		assertThat(this.data.jdbc().sql(MISSING_OR_DOUBLE).query().listOfRows()).as("with seed %s", this.seed)
			.isEmpty();
	}

	/** Things are under way again, and not far behind. */
	private void awaitCarried(int events) {
		long before = carried();
		await().atMost(Duration.ofMinutes(2)).ignoreExceptions().until(() -> {
			startMissing();
			this.carried.set(carried());
			return this.carried.get() > before + events;
		});
	}

	private void fault() {
		int kind = this.random.nextInt(6);
		logger.info("Fault {}", kind);
		switch (kind) {
			case 0, 1 -> {
				this.instances.remove(this.random.nextInt(this.instances.size())).kill();
				startMissing();
			}
			case 2 -> this.network.cut();
			case 3 -> {
				this.network.loseAnswers();
				awaitPublished(20);
				this.network.cut();
			}
			case 4 -> {
				this.busServer.stop(StopMode.IMMEDIATE);
				// publishing goes on
				awaitPublished(50);
				this.busServer.start();
			}
			default -> this.dataServer.restart(StopMode.IMMEDIATE);
		}
	}

	private void awaitPublished(int events) {
		int before = this.published.get();
		this.mayWait.addAndGet(events);
		await().until(() -> this.published.get() >= before + events);
	}

	private void startMissing() {
		// one that was about to start when a server went away has ended by itself
		this.instances.removeIf((instance) -> !instance.isAlive());
		while (this.instances.size() < 2) {
			List<String> properties = new ArrayList<>(this.properties);
			properties.addAll(List.of("hikari.maximum-pool-size=8", "hikari.minimum-idle=0",
					"pgbus.datasource.url=" + this.network.jdbcUrl(),
					"pgbus.datasource.username=" + this.bus.username(),
					"pgbus.datasource.password=" + this.bus.password(), "pgbus.datasource.hikari.maximum-pool-size=8",
					"pgbus.datasource.hikari.minimum-idle=0", "pgbus.outbox.batch-size=20",
					"pgbus.outbox.concurrency=2", "pgbus.consumer.timeout=2s", "pgbus.listener.poll-interval=200ms",
					"pgbus.listener.retry.back-off=50ms"));
			this.instances.add(InstanceProcess.start(OutboxMain.class, this.data, List.of("-Xmx160m"),
					properties.toArray(String[]::new)));
		}
	}

	/** The keys of one writer are its alone, so that their order is known. */
	private void write(int first) {
		TransactionTemplate transaction = new TransactionTemplate(new JdbcTransactionManager(this.data.dataSource()));
		JdbcClient jdbc = JdbcClient.create(this.data.dataSource());
		Random dice = new Random(this.seed + first);
		while (this.writing.get()) {
			// what waits is bounded, or the end would be long in coming
			await().atMost(Duration.ofMinutes(5))
				.until(() -> !this.writing.get() || this.published.get() < this.carried.get() + this.mayWait.get());
			try {
				int size = 1 + dice.nextInt(8);
				transaction.executeWithoutResult((status) -> {
					for (int i = 0; i < size; i++) {
						String key = "k" + (first + WRITERS * dice.nextInt(KEYS / WRITERS));
						jdbc.sql("""
								with next as (update written set n = n + 1 where key = ? returning key, n)
								""" + this.write).param(key).query(Long.class).single();
					}
					if (dice.nextInt(10) == 0) {
						status.setRollbackOnly();
					}
				});
				this.published.addAndGet(size);
			}
			catch (DataAccessException | TransactionException ex) {
				// its server was killed
				logger.debug("Not written", ex);
			}
		}
	}

	private long carried() {
		return this.bus.jdbc().sql("select count(*) from pgbus.event").query(Long.class).single();
	}

}
