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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

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

	/** What was published for sure. */
	private final Set<String> published = ConcurrentHashMap.newKeySet();

	private final AtomicBoolean mended = new AtomicBoolean();

	/** A handler that comes here stays, and with it its window is open. */
	private final CountDownLatch stuck = new CountDownLatch(1);

	private final CountDownLatch released = new CountDownLatch(1);

	private final TestBus bus;

	private final TestBus.Instance instance;

	private final Connection late;

	private final Connection open;

	private MovingGroups(TestBus bus) throws SQLException {
		this.bus = bus;
		this.instance = instance(bus, this.mended, this::stay);
		this.late = bus.testDatabase.connect();
		this.open = bus.testDatabase.connect();
	}

	/** Starts on a fresh database. */
	static MovingGroups start(TestDatabase database) throws Exception {
		TestBus bus = new TestBus(database);
		createEffects(database);
		MovingGroups groups = new MovingGroups(bus);
		try {
			groups.startPublishing();
			groups.awaitEffects(100);
			return groups;
		}
		catch (RuntimeException ex) {
			groups.close();
			throw ex;
		}
	}

	static void createEffects(TestDatabase database) {
		database.jdbc().sql("""
				create table effect (
					ordinal integer generated always as identity, group_name text, key text, n integer
				)""").update();
	}

	/**
	 * Lets one transaction commit late and another one stay open, waits until some have
	 * failed, and leaves everyone at work, one of them with an event.
	 */
	void workOn() throws Exception {
		this.bus.jdbc.sql("select pgbus.publish('s', 'stuck', 't', '0')").query(Long.class).single();
		this.stuck.await();
		publishAndStay(this.late, "late");
		publishAndStay(this.open, "open");
		awaitEffects(effects() + 100);
		this.late.commit();
		awaitEffects(effects() + 100);
		await().until(() -> this.bus.jdbc.sql("select count(distinct state) from pgbus.failed_event")
			.query(Integer.class)
			.single() == 3);
	}

	private void stay(Event<Integer> event) {
		if ("stuck".equals(event.key())) {
			this.stuck.countDown();
			try {
				this.released.await();
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
		}
	}

	private void awaitEffects(long count) {
		await().until(() -> effects() > count);
	}

	private long effects() {
		return this.bus.jdbc.sql("select count(*) from effect").query(Long.class).single();
	}

	private void startPublishing() {
		for (int i = 0; i < PUBLISHERS; i++) {
			String publisher = "p" + this.publishers.size() + "-";
			this.publishers.add(this.threads.submit(() -> publish(publisher)));
		}
	}

	/** Leaves a transaction behind that has published and whose end is open. */
	void prepare(String key) throws SQLException {
		try (Connection connection = this.bus.testDatabase.connect()) {
			publishAndStay(connection, key);
			try (Statement statement = connection.createStatement()) {
				statement.execute("prepare transaction '" + key + "'");
			}
		}
	}

	/** Commits it now. */
	void commitPrepared(String key) {
		this.bus.jdbc.sql("commit prepared '" + key + "'").update();
		this.published.add(key + 0);
	}

	/**
	 * Waits until those who were at work when the server went away go on with another,
	 * where events are published again.
	 */
	void awaitTheyGoOn() throws Exception {
		this.released.countDown();
		for (Future<?> publisher : this.publishers) {
			publisher.get();
		}
		await().ignoreExceptions().until(this.bus.jdbc.sql("select true").query(Boolean.class)::single);
		startPublishing();
		awaitEffects(effects() + 100);
	}

	/** Mends the handlers, and looks whether all is done. */
	void assertNothingIsMissingOrDoubled() throws Exception {
		stopPublishing();
		this.mended.set(true);
		assertNothingIsMissingOrDoubled(this.bus);
		assertThat(events(this.bus)).containsAll(this.published);
	}

	private void stopPublishing() throws Exception {
		this.publishing.set(false);
		for (Future<?> publisher : this.publishers) {
			publisher.get();
		}
	}

	@Override
	public void close() throws Exception {
		this.released.countDown();
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
			TestBus.Instance instance = instance(bus, new AtomicBoolean(true), (event) -> {
			});
			for (int n = 0; n < 20; n++) {
				instance.publisher.publish(OutgoingEvent.to("s").key("new").payload(n));
			}
			assertNothingIsMissingOrDoubled(bus);
			assertThat(events(bus)).contains("new19");
		}
	}

	private static void assertNothingIsMissingOrDoubled(TestBus bus) {
		List<String> events = events(bus);
		assertThat(events).contains("late0", "stuck0").doesNotContain("open0");
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

	private static List<String> events(TestBus bus) {
		return bus.jdbc.sql("select key || payload from pgbus.event order by key, payload").query(String.class).list();
	}

	/** What a group has done, by key, and there in the order of a column. */
	private static List<String> effects(JdbcClient jdbc, String group, String column) {
		return jdbc.sql("select key || n from effect where group_name = ? order by key, " + column)
			.param(group)
			.query(String.class)
			.list();
	}

	private static TestBus.Instance instance(TestBus bus, AtomicBoolean mended, Consumer<Event<Integer>> stay) {
		bus.listens = true;
		bus.partitions = Map.of("s", 4);
		// so long it counts as running after a copy was made
		TestBus.Instance instance = bus.instance(Duration.ofSeconds(5));
		JdbcClient jdbc = JdbcClient.create(bus.dataSource);
		instance.registry.register(listener("single").concurrency(2).onEvent(Integer.class, (event) -> {
			stay.accept(event);
			effect(jdbc, "single", event);
		}));
		instance.registry.register(listener("lists").onEvents(Integer.class,
				(events) -> events.forEach((event) -> effect(jdbc, "lists", event))));
		instance.registry.register(listener("failing").onEvent(Integer.class, (event) -> {
			effect(jdbc, "failing", event);
			failIf(event.payload() % 5 == 3 && event.attempt() < 3);
		}));
		instance.registry.register(listener("dying").retry(HOLDING).onEvent(Integer.class, (event) -> {
			effect(jdbc, "dying", event);
			failIf(event.payload() % 20 == 9 && !mended.get());
		}));
		instance.registry.register(listener("waiting").retry(PATIENT).onEvent(Integer.class, (event) -> {
			effect(jdbc, "waiting", event);
			failIf(event.payload() % 20 == 9 && !mended.get());
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
	private void publish(String publisher) {
		Random random = new Random(publisher.hashCode());
		int[] next = new int[2];
		while (this.publishing.get()) {
			List<String> transaction = new ArrayList<>();
			try {
				this.bus.transaction.executeWithoutResult((status) -> {
					int events = 1 + random.nextInt(4);
					for (int k = 0; k < events; k++) {
						int key = random.nextInt(2);
						transaction.add(publisher + key + ":" + next[key]);
						this.instance.publisher
							.publish(OutgoingEvent.to("s").key(publisher + key + ":").payload(next[key]++));
					}
					this.bus.jdbc.sql("select pg_sleep(?)").param(random.nextInt(60) / 1000d).query().listOfRows();
				});
				this.published.addAll(transaction);
			}
			catch (DataAccessException | TransactionException ex) {
				return;
			}
		}
	}

}
