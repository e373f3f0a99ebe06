package io.pgbus.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import io.pgbus.EventPublisher;
import io.pgbus.OutgoingEvent;
import io.pgbus.core.AnnotationEventTypeResolver;
import io.pgbus.core.DefaultEventPublisher;
import io.pgbus.core.EventConverter;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.EventStore;
import io.pgbus.store.Notifier;
import io.pgbus.store.SchemaInitializer;
import io.pgbus.store.StreamStore;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.OwnServer.StopMode;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.unit.DataSize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The guarantees, under what may happen to processes and servers: instances are killed at
 * random and others started, one is frozen until it is taken for dead and then goes on,
 * the server crashes, all while publishers commit and roll back, and handlers fail now
 * and then. What the handlers did is in a table of the same database.
 * <p>
 * Runs for about half a minute, or with <code>-Dpgbus.chaos.minutes=n</code> for n. The
 * order of what happens follows from a seed, which is logged;
 * <code>-Dpgbus.chaos.seed=n</code> repeats it as far as the processes let it.
 */
class ChaosIntegrationTests {

	private static final Logger logger = LoggerFactory.getLogger(ChaosIntegrationTests.class);

	private static final int INSTANCES = 3;

	private static final int PUBLISHERS = 2;

	private static final int KEYS = 20;

	private static final Duration TIMEOUT = Duration.ofSeconds(3);

	private static final long DURATION_NANOS = (Integer.getInteger("pgbus.chaos.minutes") != null)
			? TimeUnit.MINUTES.toNanos(Integer.getInteger("pgbus.chaos.minutes")) : TimeUnit.SECONDS.toNanos(30);

	private final long seed = Long.getLong("pgbus.chaos.seed", System.nanoTime());

	private final Random random = new Random(this.seed);

	private final List<InstanceProcess> instances = new ArrayList<>();

	private final ExecutorService threads = Executors.newCachedThreadPool();

	/** What publishers may still do: no more than is delivered after a while. */
	private final Semaphore transactions = new Semaphore(100);

	private final AtomicBoolean publishing = new AtomicBoolean(true);

	private OwnServer server;

	private TestDatabase database;

	private JdbcClient jdbc;

	private int started;

	@BeforeEach
	void createDatabase() {
		InstanceProcess.assumeSignals();
		// the network of a test has no packets to lose, so a lost server is seen at once
		this.server = TestDatabase.startOwnServer(Map.of());
		this.database = this.server.createDatabase();
		this.jdbc = JdbcClient.create(this.database.dataSource(PUBLISHERS + 3));
		BusDatabase bus = new BusDatabase(this.database.dataSource(), "pgbus");
		new SchemaInitializer(bus).migrate();
		new StreamStore(bus, Map.of(InstanceMain.STREAM, 6)).createDeclared();
		this.jdbc
			.sql("create table counter as select 'key-' || n as key, 0 as n from generate_series(1, %d) n"
				.formatted(KEYS))
			.update();
		this.jdbc.sql("""
				create table delivered (
					ordinal bigint generated always as identity,
					grp text, event_id bigint, key text, n integer, attempt integer, pid bigint
				)""").update();
		// one in 40 fails at first, some of these again; one in 50 is slow
		this.jdbc.sql("""
				create function on_event(grp text, event_id bigint, key text, n integer, attempt integer, pid bigint)
				returns void language plpgsql as $$
				begin
					insert into delivered (grp, event_id, key, n, attempt, pid)
					values (grp, event_id, key, n, attempt, pid);
					if attempt <= (case when event_id % 200 = 0 then 3 when event_id % 40 = 0 then 1 else 0 end) then
						raise exception 'event % is chosen to fail', event_id;
					end if;
					if event_id % 50 = 7 then
						perform pg_sleep(0.1);
					end if;
				end $$""").update();
	}

	@AfterEach
	void close() {
		this.publishing.set(false);
		this.threads.shutdownNow();
		this.instances.forEach(InstanceProcess::close);
		if (this.server != null) {
			this.server.close();
		}
	}

	@Test
	void eachEventIsHandledExactlyOncePerGroupAndInKeyOrderWhateverIsKilledFrozenOrCrashes() throws Exception {
		logger.info("Chaos with -Dpgbus.chaos.seed={}", this.seed);
		List<Future<?>> publishers = new ArrayList<>();
		try (Notifier notifier = new Notifier(new BusDatabase(this.database.dataSource(), "pgbus"), () -> 0,
				Notifier.DEFAULT_INTERVAL, "chaos-notify")) {
			EventPublisher publisher = publisher(notifier);
			for (int i = 0; i < PUBLISHERS; i++) {
				Random publisherRandom = new Random(this.random.nextLong());
				publishers.add(this.threads.submit(() -> publish(publisher, publisherRandom)));
			}
			replaceTheDead();
			long end = System.nanoTime() + DURATION_NANOS;
			for (int step = 0; System.nanoTime() < end; step++) {
				awaitDeliveries(20 + this.random.nextInt(100));
				disturb(step);
				replaceTheDead();
			}
			this.publishing.set(false);
			for (Future<?> each : publishers) {
				each.get();
			}
		}
		this.instances.stream().filter(InstanceProcess::isFrozen).forEach(InstanceProcess::thaw);
		for (String group : List.of(InstanceMain.ONCE, InstanceMain.LISTS, InstanceMain.LEAST)) {
			await().atMost(2, TimeUnit.MINUTES).untilAsserted(() -> assertThat(missing(group)).isEmpty());
		}
		awaitCalm();
		long events = this.jdbc.sql("select count(*) from pgbus.event").query(Long.class).single();
		logger.info("{} events, {} processes, seed {}", events, this.started, this.seed);
		for (String group : List.of(InstanceMain.ONCE, InstanceMain.LISTS)) {
			assertThat(repeated(group)).as("repeated in group " + group + " with seed " + this.seed).isEmpty();
		}
		for (String group : List.of(InstanceMain.ONCE, InstanceMain.LISTS, InstanceMain.LEAST)) {
			assertThat(outOfOrder(group)).as("out of order in group " + group + " with seed " + this.seed).isEmpty();
		}
		assertThat(this.jdbc.sql("select count(*) from pgbus.ledger").query(Long.class).single()).as("ledger rows left")
			.isZero();
	}

	private EventPublisher publisher(Notifier notifier) {
		BusDatabase bus = new BusDatabase(this.database.dataSource(), "pgbus");
		return new DefaultEventPublisher(bus, new EventStore(bus, new StreamStore(bus, Map.of())),
				new EventConverter(JsonMapper.builder().build()), new AnnotationEventTypeResolver(),
				notifier::published, DataSize.ofMegabytes(1));
	}

	private Void publish(EventPublisher publisher, Random random) throws InterruptedException {
		TransactionTemplate transaction = new TransactionTemplate(
				new JdbcTransactionManager(this.database.dataSource()));
		while (this.publishing.get()) {
			try {
				if (!this.transactions.tryAcquire(100, TimeUnit.MILLISECONDS)) {
					continue;
				}
				transaction.executeWithoutResult((status) -> {
					int firstKey = 1 + random.nextInt(KEYS);
					// in one order, so that publishers do not deadlock
					for (int key = firstKey; key <= Math.min(KEYS, firstKey + random.nextInt(4)); key++) {
						int n = this.jdbc.sql("update counter set n = n + 1 where key = ? returning n")
							.param("key-" + key)
							.query(Integer.class)
							.single();
						publisher.publish(OutgoingEvent.to(InstanceMain.STREAM).key("key-" + key).payload(n));
					}
					this.jdbc.sql("select pg_sleep(?)::text")
						.param(random.nextInt(25) / 1000d)
						.query(String.class)
						.single();
					if (random.nextInt(5) == 0) {
						status.setRollbackOnly();
					}
				});
			}
			catch (DataAccessException | TransactionException ex) {
				logger.debug("The server is down", ex);
			}
		}
		return null;
	}

	private void disturb(int step) {
		// the first steps have one of each, the others are left to chance
		int what = (step < 3) ? step : this.random.nextInt(8);
		InstanceProcess victim = this.instances.get(this.random.nextInt(this.instances.size()));
		// one that was about to start when the server crashed ends by itself
		await().atMost(1, TimeUnit.MINUTES).until(() -> isListening(victim) || !victim.isAlive());
		if (!victim.isAlive()) {
			logger.info("{} has not started", victim.consumerName());
			return;
		}
		switch (what) {
			case 0 -> freezeUntilItIsTakenForDead(victim);
			case 1 -> {
				logger.info("The server crashes");
				this.server.restart(StopMode.IMMEDIATE);
			}
			default -> {
				logger.info("{} is killed", victim.consumerName());
				victim.kill();
			}
		}
	}

	private void freezeUntilItIsTakenForDead(InstanceProcess victim) {
		logger.info("{} is frozen", victim.consumerName());
		victim.freeze();
		await().atMost(30, TimeUnit.SECONDS).until(() -> !isRegistered(victim));
		awaitDeliveries(20);
		victim.thaw();
		logger.info("{} goes on", victim.consumerName());
		await().atMost(30, TimeUnit.SECONDS).until(() -> isListening(victim));
	}

	private boolean isListening(InstanceProcess instance) {
		return this.jdbc.sql(
				"select count(*) = 3 from pgbus.member m join pgbus.consumer c on c.id = m.consumer_id where c.name = ?")
			.param(instance.consumerName())
			.query(Boolean.class)
			.single();
	}

	private boolean isRegistered(InstanceProcess instance) {
		return this.jdbc.sql("select exists (select from pgbus.consumer where name = ?)")
			.param(instance.consumerName())
			.query(Boolean.class)
			.single();
	}

	private void replaceTheDead() {
		this.instances.removeIf((instance) -> !instance.isAlive());
		while (this.instances.size() < INSTANCES) {
			// not all are configured alike, as in a rolling deployment
			this.instances.add(InstanceProcess.start(this.database, TIMEOUT, List.of(100, 20, 5).get(this.started % 3),
					List.of(1, 1, 8).get(this.started % 3)));
			this.started++;
		}
	}

	/**
	 * Chaos goes on when so much more is delivered: nothing stands still. Of what is
	 * published for that there is more than enough.
	 */
	private void awaitDeliveries(int more) {
		this.transactions.release(more / 2 + 10);
		long before = delivered();
		await().atMost(1, TimeUnit.MINUTES).until(() -> delivered() >= before + more);
	}

	private long delivered() {
		return this.jdbc.sql("select count(*) from delivered").query(Long.class).single();
	}

	/**
	 * Nothing is held, nothing waits: whoever was to handle an event again has done so.
	 */
	private void awaitCalm() {
		await().atMost(1, TimeUnit.MINUTES)
			.untilAsserted(() -> assertThat(this.jdbc
				.sql("""
						select (select count(*) from pgbus.failed_event)
							+ (select count(*) from pgbus.cursor_state where owner is not null or position < ceiling)
							+ (select count(*) from pg_stat_activity where datname = current_database() and xact_start is not null
								and pid <> pg_backend_pid() and query not like '%pgbus%')""")
				.query(Long.class)
				.single()).isZero());
	}

	private List<Long> missing(String group) {
		return this.jdbc.sql("""
				select e.id from pgbus.event e
				where not exists (select from delivered d where d.grp = ? and d.event_id = e.id) limit 20""")
			.param(group)
			.query(Long.class)
			.list();
	}

	private List<String> repeated(String group) {
		return this.jdbc.sql("""
				select string_agg(d::text, ' ' order by ordinal) from delivered d where grp = ?
				group by event_id having count(*) > 1""").param(group).query(String.class).list();
	}

	/** Of each event the first delivery counts; a repetition comes later. */
	private List<String> outOfOrder(String group) {
		return this.jdbc.sql("""
				with first as (select key, n, min(ordinal) as ordinal from delivered where grp = ? group by key, n)
				select key || ': ' || n || ' after ' || before
				from (select key, n, lag(n, 1, 0) over (partition by key order by ordinal) as before from first) f
				where n <> before + 1""").param(group).query(String.class).list();
	}

}
