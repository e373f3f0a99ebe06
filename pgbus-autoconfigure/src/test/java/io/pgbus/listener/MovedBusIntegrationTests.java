package io.pgbus.listener;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

import io.pgbus.DeliveryMode;
import io.pgbus.OutgoingEvent;
import io.pgbus.PgBusException;
import io.pgbus.testing.DataMove;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Groups that are at work while everything they do it with is copied. Their effects are
 * in the copy as well, so that there each event has to have had its effect once in the
 * end, in the order of its key.
 */
class MovedBusIntegrationTests {

	private static final int PUBLISHERS = 3;

	private static final int TRANSACTIONS = 150;

	/** More than all of this uses. */
	private static final int FAR = 50_000;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final AtomicBoolean publishing = new AtomicBoolean(true);

	@AfterEach
	void close() {
		this.publishing.set(false);
		this.threads.shutdownNow();
	}

	@Test
	void nothingIsMissingOrDoubledWhereRunningGroupsWereCopiedToAServerThatIsBehind() throws Exception {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of())) {
			TestDatabase source = TestDatabase.create();
			TestDatabase target = server.createDatabase();
			DataMove.useTransactionIds(source, FAR);
			new TestBus(target);
			createEffects(target.jdbc());
			move(source, target, () -> DataMove.copyRows(source, target, true));
		}
	}

	@Test
	void nothingIsMissingOrDoubledWhereRunningGroupsWereDumpedAndRestoredOnAServerThatIsAhead() throws Exception {
		try (OwnServer server = TestDatabase.startInstalledServer(Map.of())) {
			TestDatabase source = server.createDatabase();
			TestDatabase target = TestDatabase.create();
			DataMove.useTransactionIds(target, FAR);
			move(source, target, () -> DataMove.dumpAndRestore(server, source, target));
		}
	}

	private void move(TestDatabase source, TestDatabase target, Runnable move) throws Exception {
		try (TestBus bus = new TestBus(source);
				Connection late = source.connect();
				Connection open = source.connect()) {
			createEffects(bus.jdbc);
			TestBus.Instance instance = start(bus);
			publishAndStay(late, "late");
			publishAndStay(open, "open");
			List<Future<?>> publishers = new ArrayList<>();
			for (int i = 0; i < PUBLISHERS; i++) {
				int publisher = i;
				publishers.add(this.threads.submit(() -> publish(instance, bus, publisher)));
			}
			await().until(() -> count(bus.jdbc, "public.effect") > 100);
			late.commit();
			await().until(() -> count(bus.jdbc, "public.effect") > 200);
			move.run();
			this.publishing.set(false);
			for (Future<?> publisher : publishers) {
				publisher.get();
			}
		}
		assertThat(count(target.jdbc(), "pgbus.consumer")).isPositive();
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> new TestBus(target))
			.withMessageContaining("rebase()");
		target.jdbc().sql("select pgbus.rebase()").query(Long.class).single();
		try (TestBus bus = new TestBus(target)) {
			TestBus.Instance instance = start(bus);
			for (int n = 0; n < 20; n++) {
				instance.publisher.publish(OutgoingEvent.to("s").key("new").payload(n));
			}
			List<String> events = bus.jdbc.sql("select key || payload from pgbus.event order by key, payload")
				.query(String.class)
				.list();
			assertThat(events).contains("late0").doesNotContain("open0");
			for (String group : List.of("single", "lists", "failing")) {
				await().untilAsserted(() -> assertThat(effects(bus.jdbc, group, "n")).isEqualTo(events));
				assertThat(effects(bus.jdbc, group, "ordinal")).isEqualTo(events);
			}
			await().untilAsserted(() -> assertThat(bus.failedEvents()).isEmpty());
		}
	}

	private static void createEffects(JdbcClient jdbc) {
		jdbc.sql("""
				create table effect (
					ordinal integer generated always as identity, group_name text, key text, n integer
				)""").update();
	}

	/** What a group has done, by key, and there in the order of a column. */
	private static List<String> effects(JdbcClient jdbc, String group, String column) {
		return jdbc.sql("select key || n from effect where group_name = ? order by key, " + column)
			.param(group)
			.query(String.class)
			.list();
	}

	private static long count(JdbcClient jdbc, String table) {
		return jdbc.sql("select count(*) from " + table).query(Long.class).single();
	}

	private static TestBus.Instance start(TestBus bus) {
		bus.listens = true;
		bus.partitions = Map.of("s", 4);
		TestBus.Instance instance = bus.instance();
		JdbcClient jdbc = JdbcClient.create(bus.dataSource);
		instance.registry.register(PgListenerEndpoint.id("single")
			.streams("s")
			.delivery(DeliveryMode.EXACTLY_ONCE)
			.concurrency(2)
			.onEvent(Integer.class, (event) -> effect(jdbc, "single", event.key(), event.payload())));
		instance.registry.register(PgListenerEndpoint.id("lists")
			.streams("s")
			.delivery(DeliveryMode.EXACTLY_ONCE)
			.onEvents(Integer.class,
					(events) -> events.forEach((event) -> effect(jdbc, "lists", event.key(), event.payload()))));
		instance.registry.register(PgListenerEndpoint.id("failing")
			.streams("s")
			.delivery(DeliveryMode.EXACTLY_ONCE)
			.onEvent(Integer.class, (event) -> {
				effect(jdbc, "failing", event.key(), event.payload());
				if (event.payload() % 5 == 3 && event.attempt() < 3) {
					throw new IllegalStateException("not yet");
				}
			}));
		return instance;
	}

	private static void effect(JdbcClient jdbc, String group, String key, int n) {
		jdbc.sql("insert into effect (group_name, key, n) values (?, ?, ?)").params(group, key, n).update();
	}

	private static void publishAndStay(Connection connection, String key) throws SQLException {
		connection.setAutoCommit(false);
		try (Statement statement = connection.createStatement()) {
			statement.execute("select pgbus.publish('s', '%s', 't', '0')".formatted(key));
		}
	}

	/** Each has keys of its own, whose events are in order then. */
	private Void publish(TestBus.Instance instance, TestBus bus, int publisher) {
		Random random = new Random(publisher);
		int[] next = new int[2];
		for (int i = 0; i < TRANSACTIONS && this.publishing.get(); i++) {
			bus.transaction.executeWithoutResult((status) -> {
				int events = 1 + random.nextInt(4);
				for (int k = 0; k < events; k++) {
					int key = random.nextInt(2);
					instance.publisher
						.publish(OutgoingEvent.to("s").key("p" + publisher + "-" + key + ":").payload(next[key]++));
				}
				bus.jdbc.sql("select pg_sleep(?)").param(random.nextInt(20) / 1000d).query().listOfRows();
			});
		}
		return null;
	}

}
