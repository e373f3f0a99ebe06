package io.pgbus.listener;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.OutgoingEvent;
import io.pgbus.RetryPolicy;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.FailureChanges;
import io.pgbus.store.FailureFilter;
import io.pgbus.testing.TestDatabase;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.TransactionException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Publishers and groups of several kinds at work on a bus that is moved under them. Their
 * effects are in its database and move with it, so that each event has to have had its
 * effect once in the end, in the order of its key, wherever that is.
 */
final class MovingGroups implements AutoCloseable {

	private static final List<String> GROUPS = List.of("single", "lists", "failing", "dying", "waiting");

	private static final int PUBLISHERS = 3;

	/** Attempts that are not at once are not made here. */
	private static final RetryPolicy PATIENT = new RetryPolicy(3, Duration.ofDays(1), 1, Duration.ofDays(1), 0,
			Set.of(), RetryPolicy.OnDead.CONTINUE);

	private static final RetryPolicy HOLDING = new RetryPolicy(2, Duration.ofMillis(1), 1, Duration.ofMillis(1), 0,
			Set.of(), RetryPolicy.OnDead.HOLD_KEY);

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final AtomicBoolean publishing = new AtomicBoolean(true);

	private final List<Future<?>> publishers = new ArrayList<>();

	private final TestBus bus;

	private final Connection late;

	private final Connection open;

	private MovingGroups(TestBus bus) throws SQLException {
		this.bus = bus;
		this.late = bus.testDatabase.connect();
		this.open = bus.testDatabase.connect();
	}

	/** Starts on a fresh database. */
	static MovingGroups start(TestDatabase database) throws SQLException {
		TestBus bus = new TestBus(database);
		createEffects(database);
		TestBus.Instance instance = instance(bus, false);
		MovingGroups groups = new MovingGroups(bus);
		for (int i = 0; i < PUBLISHERS; i++) {
			int publisher = i;
			groups.publishers.add(groups.threads.submit(() -> groups.publish(instance, publisher)));
		}
		groups.awaitEffects(100);
		return groups;
	}

	static void createEffects(TestDatabase database) {
		database.jdbc().sql("""
				create table effect (
					ordinal integer generated always as identity, group_name text, key text, n integer
				)""").update();
	}

	/**
	 * Lets one transaction commit late and another one stay open, waits until some have
	 * failed, and leaves everyone at work.
	 */
	void workOn() throws SQLException {
		publishAndStay(this.late, "late");
		publishAndStay(this.open, "open");
		awaitEffects(effects() + 100);
		this.late.commit();
		awaitEffects(effects() + 100);
		await().until(() -> this.bus.jdbc.sql("select count(distinct state) from pgbus.failed_event")
			.query(Integer.class)
			.single() == 3);
	}

	private void awaitEffects(long count) {
		await().until(() -> effects() > count);
	}

	private long effects() {
		return this.bus.jdbc.sql("select count(*) from effect").query(Long.class).single();
	}

	void stopPublishing() throws Exception {
		this.publishing.set(false);
		for (Future<?> publisher : this.publishers) {
			publisher.get();
		}
	}

	@Override
	public void close() throws Exception {
		stopPublishing();
		this.threads.shutdownNow();
		this.late.close();
		this.open.close();
		this.bus.close();
	}

	/**
	 * Goes on where it came to, with handlers that fail no more, and looks whether all is
	 * done.
	 */
	static void assertNothingIsMissingOrDoubled(TestDatabase database) {
		try (TestBus bus = new TestBus(database)) {
			TestBus.Instance instance = instance(bus, true);
			for (int n = 0; n < 20; n++) {
				instance.publisher.publish(OutgoingEvent.to("s").key("new").payload(n));
			}
			assertNothingIsMissingOrDoubled(bus);
		}
	}

	private static void assertNothingIsMissingOrDoubled(TestBus bus) {
		List<String> events = bus.jdbc.sql("select key || payload from pgbus.event order by key, payload")
			.query(String.class)
			.list();
		assertThat(events).contains("late0", "new19").doesNotContain("open0");
		FailureChanges failures = new FailureChanges(new BusDatabase(bus.dataSource, "pgbus"));
		await().untilAsserted(() -> {
			for (String group : List.of("dying", "waiting")) {
				failures.retry(group, new FailureFilter(null, null, null, null), 1000);
			}
			assertThat(bus.failedEvents()).isEmpty();
			for (String group : GROUPS) {
				assertThat(effects(bus.jdbc, group, "n")).as(group).hasSameSizeAs(events);
			}
		});
		for (String group : GROUPS) {
			assertThat(effects(bus.jdbc, group, "n")).as(group).isEqualTo(events);
			assertThat(effects(bus.jdbc, group, "ordinal")).as(group).isEqualTo(events);
		}
	}

	/** What a group has done, by key, and there in the order of a column. */
	private static List<String> effects(JdbcClient jdbc, String group, String column) {
		return jdbc.sql("select key || n from effect where group_name = ? order by key, " + column)
			.param(group)
			.query(String.class)
			.list();
	}

	private static TestBus.Instance instance(TestBus bus, boolean mended) {
		bus.listens = true;
		bus.partitions = Map.of("s", 4);
		TestBus.Instance instance = bus.instance();
		JdbcClient jdbc = JdbcClient.create(bus.dataSource);
		instance.registry.register(
				listener("single").concurrency(2).onEvent(Integer.class, (event) -> effect(jdbc, "single", event)));
		instance.registry.register(listener("lists").onEvents(Integer.class,
				(events) -> events.forEach((event) -> effect(jdbc, "lists", event))));
		instance.registry.register(listener("failing").onEvent(Integer.class, (event) -> {
			effect(jdbc, "failing", event);
			failIf(event.payload() % 5 == 3 && event.attempt() < 3);
		}));
		instance.registry.register(listener("dying").retry(HOLDING).onEvent(Integer.class, (event) -> {
			effect(jdbc, "dying", event);
			failIf(event.payload() % 20 == 9 && !mended);
		}));
		instance.registry.register(listener("waiting").retry(PATIENT).onEvent(Integer.class, (event) -> {
			effect(jdbc, "waiting", event);
			failIf(event.payload() % 20 == 9 && !mended);
		}));
		return instance;
	}

	private static PgListenerEndpoint.Builder listener(String id) {
		return PgListenerEndpoint.id(id).streams("s").delivery(DeliveryMode.EXACTLY_ONCE);
	}

	private static void effect(JdbcClient jdbc, String group, Event<Integer> event) {
		jdbc.sql("insert into effect (group_name, key, n) values (?, ?, ?)")
			.params(group, event.key(), event.payload())
			.update();
	}

	private static void failIf(boolean condition) {
		if (condition) {
			throw new IllegalStateException("not yet");
		}
	}

	private static void publishAndStay(Connection connection, String key) throws SQLException {
		connection.setAutoCommit(false);
		try (Statement statement = connection.createStatement()) {
			statement.execute("select pgbus.publish('s', '%s', 't', '0')".formatted(key));
		}
	}

	/**
	 * Each has keys of its own, whose events are in order then. Ends when the database
	 * does.
	 */
	private void publish(TestBus.Instance instance, int publisher) {
		Random random = new Random(publisher);
		int[] next = new int[2];
		while (this.publishing.get()) {
			try {
				this.bus.transaction.executeWithoutResult((status) -> {
					int events = 1 + random.nextInt(4);
					for (int k = 0; k < events; k++) {
						int key = random.nextInt(2);
						instance.publisher
							.publish(OutgoingEvent.to("s").key("p" + publisher + "-" + key + ":").payload(next[key]++));
					}
					this.bus.jdbc.sql("select pg_sleep(?)").param(random.nextInt(60) / 1000d).query().listOfRows();
				});
			}
			catch (DataAccessException | TransactionException ex) {
				return;
			}
		}
	}

}
