package io.pgbus.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import io.pgbus.store.ListeningLoop.Timing;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.OwnServer.StopMode;
import io.pgbus.testing.PgBouncer;
import io.pgbus.testing.TcpProxy;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.awaitility.Awaitility.await;

@ExtendWith(OutputCaptureExtension.class)
class NotificationListenerIntegrationTests {

	private static final Timing PATIENT = new Timing(Duration.ofSeconds(20), Duration.ofSeconds(10),
			Duration.ofMinutes(10));

	private static final Timing IMPATIENT = new Timing(Duration.ofMillis(200), Duration.ofSeconds(1),
			Duration.ofMillis(100));

	private static final String THREAD = "test-listener";

	private static final String LOCKS = """
			select objid from pg_locks where locktype = 'advisory' and granted and objsubid = 2
			and database = (select oid from pg_database where datname = current_database())
			and classid = 'pgbus.bus'::regclass::oid
			""";

	private final Received received = new Received();

	private TestDatabase testDatabase;

	private int consumerId;

	@BeforeEach
	void createBus() {
		this.testDatabase = TestDatabase.create();
		this.consumerId = createBus(this.testDatabase, "pgbus");
	}

	@AfterEach
	void close() {
		this.testDatabase.close();
	}

	@Test
	void notificationOfAnotherInstanceArrives() {
		try (NotificationListener listener = start(direct(), PATIENT)) {
			try (Notifier notifier = new Notifier(bus(), () -> this.consumerId + 1, Duration.ofMillis(10), "other")) {
				notifier.published(3);
				this.received.awaitStreams(3);
			}
			assertThat(listener.isListening()).isTrue();
			assertThat(listener.lastFailure()).isNull();
		}
	}

	@Test
	void ownNotificationIsIgnored() {
		try (NotificationListener listener = start(direct(), PATIENT)) {
			notify("pgbus", this.consumerId + ":1");
			notify("pgbus", ":2");
			this.received.awaitStreams(2);
		}
	}

	@Test
	void notificationsThatArriveTogetherArePassedOnAsOne() {
		try (NotificationListener listener = start(direct(), PATIENT)) {
			this.testDatabase.jdbc()
				.sql("select pg_notify('pgbus', ':' || n) from generate_series(1, 3) n")
				.query()
				.listOfRows();
			this.received.awaitStreams(1, 2, 3);
		}
	}

	@Test
	void notificationOfAnyStreamIsPassedOnAsThat() {
		try (NotificationListener listener = start(direct(), PATIENT)) {
			notify("pgbus", ":*");
			this.received.awaitAny();
			notify("pgbus", "what is this?");
			this.received.awaitAny();
		}
	}

	@Test
	void busInAnotherSchemaIsNotHeardAndItsLocksAreNotMet() {
		int otherId = createBus(this.testDatabase, "Another \"bus\"");
		assertThat(otherId).isEqualTo(this.consumerId);
		Received others = new Received();
		try (NotificationListener listener = start(direct(), PATIENT);
				NotificationListener other = new NotificationListener(
						new BusDatabase(this.testDatabase.dataSource(), "Another \"bus\""), direct(), others, THREAD)) {
			other.start(otherId);
			others.awaitAny();
			notify("pgbus:Another \"bus\"", ":1");
			others.awaitStreams(1);
			notify("pgbus", ":2");
			this.received.awaitStreams(2);
			awaitLocked(this.consumerId);
		}
	}

	@Test
	void lockIsHeldAndMarkedUntilClose() {
		NotificationListener listener = start(direct(), PATIENT);
		awaitLocked(this.consumerId);
		listener.close();
		await().untilAsserted(() -> assertThat(locks()).isEmpty());
		assertThat(isMarked(this.consumerId)).isFalse();
		assertThat(listener.isListening()).isFalse();
	}

	@Test
	void lockFollowsTheConsumer() {
		int next = new ConsumerStore(bus()).register("next", Duration.ofMinutes(1));
		try (NotificationListener listener = start(direct(), PATIENT)) {
			awaitLocked(this.consumerId);
			listener.consumerId(next);
			awaitLocked(next);
			notify("pgbus", next + ":1");
			notify("pgbus", this.consumerId + ":2");
			this.received.awaitStreams(2);
		}
	}

	@Test
	void closedListenerCanBeStartedAgain() {
		NotificationListener listener = start(direct(), PATIENT);
		listener.close();
		assertThatCode(listener::close).doesNotThrowAnyException();
		assertThat(threads()).isZero();
		listener.start(this.consumerId);
		this.received.awaitAny();
		awaitLocked(this.consumerId);
		listener.close();
	}

	@Test
	void closeDoesNotWaitForAConnectionThatDoesNotCome() throws InterruptedException {
		CountDownLatch connecting = new CountDownLatch(1);
		NotificationListener listener = listener(() -> {
			connecting.countDown();
			try {
				new CountDownLatch(1).await();
			}
			catch (InterruptedException ex) {
				throw new SQLException(ex);
			}
			throw new IllegalStateException();
		}, PATIENT);
		listener.start(this.consumerId);
		assertThat(connecting.await(10, TimeUnit.SECONDS)).isTrue();
		listener.close();
		assertThat(threads()).isZero();
		assertThat(listener.lastFailure()).isNull();
	}

	@Test
	void listenerSurvivesWhatTheReceiverThrows() {
		AtomicBoolean failing = new AtomicBoolean(true);
		NotificationReceiver receiver = new NotificationReceiver() {
			@Override
			public void published(Set<Integer> streamIds) {
				NotificationListenerIntegrationTests.this.received.published(streamIds);
			}

			@Override
			public void publishedToAny() {
				NotificationListenerIntegrationTests.this.received.publishedToAny();
				if (failing.getAndSet(false)) {
					throw new IllegalStateException("expected");
				}
				throw new AssertionError("expected");
			}
		};
		try (NotificationListener listener = new NotificationListener(bus(), direct(), receiver, THREAD)) {
			listener.start(this.consumerId);
			this.received.awaitAny();
			notify("pgbus", ":*");
			this.received.awaitAny();
			notify("pgbus", ":1");
			this.received.awaitStreams(1);
		}
	}

	@Test
	void listensAgainWhenItsBackendWasTerminated(CapturedOutput output) {
		try (NotificationListener listener = start(direct(), PATIENT)) {
			awaitLocked(this.consumerId);
			terminateListeners();
			this.received.awaitAny();
			notify("pgbus", ":1");
			this.received.awaitStreams(1);
			awaitLocked(this.consumerId);
			assertThat(listener.lastFailure()).contains("terminating connection");
		}
		assertLostAndFoundOnce(output);
	}

	@ParameterizedTest
	@EnumSource
	void listensAgainAfterARestartOfTheServer(StopMode mode, CapturedOutput output) {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of())) {
			TestDatabase database = server.createDatabase();
			int id = createBus(database, "pgbus");
			try (NotificationListener listener = new NotificationListener(
					new BusDatabase(database.dataSource(), "pgbus"), direct(database), this.received, THREAD)) {
				listener.start(id);
				this.received.awaitAny();
				server.stop(mode);
				await().until(() -> !listener.isListening());
				server.start();
				this.received.awaitAny();
				assertThat(listener.isListening()).isTrue();
				database.jdbc().sql("select pg_notify('pgbus', ':1')").query().listOfRows();
				this.received.awaitStreams(1);
			}
		}
		assertLostAndFoundOnce(output);
	}

	@Test
	void consumerIsNotMarkedAsLockedWhileTheConnectionCannotBeMadeAnew() {
		AtomicBoolean down = new AtomicBoolean();
		NotificationConnectionFactory direct = direct();
		try (NotificationListener listener = start(() -> {
			if (down.get()) {
				throw new SQLException("down");
			}
			return direct.connect();
		}, PATIENT)) {
			awaitLocked(this.consumerId);
			down.set(true);
			terminateListeners();
			await().until(() -> !isMarked(this.consumerId));
			await().untilAsserted(() -> assertThat(listener.lastFailure()).isEqualTo("down"));
			assertThat(listener.isListening()).isFalse();
			down.set(false);
			awaitLocked(this.consumerId);
			this.received.awaitAny();
		}
	}

	@Test
	void halfOpenConnectionIsNoticedAndItsLockIsTakenFromIt(CapturedOutput output) {
		try (TcpProxy proxy = TcpProxy.start(this.testDatabase);
				NotificationListener listener = start(by(proxy.jdbcUrl()), IMPATIENT)) {
			awaitLocked(this.consumerId);
			proxy.silence();
			this.received.awaitAny();
			await().untilAsserted(() -> assertThat(locks()).containsExactly(this.consumerId));
			notify("pgbus", ":1");
			this.received.awaitStreams(1);
		}
		assertLostAndFoundOnce(output);
	}

	@Test
	void closeDoesNotWaitForAServerThatDoesNotAnswer() {
		try (TcpProxy proxy = TcpProxy.start(this.testDatabase)) {
			NotificationListener listener = start(by(proxy.jdbcUrl()), PATIENT);
			proxy.silence();
			listener.close();
			assertThat(threads()).isZero();
		}
	}

	@Test
	void behindAPoolerThatHandsSessionsOnThereIsOneWarningAndNoLock(CapturedOutput output) {
		AtomicInteger connects = new AtomicInteger();
		try (PgBouncer bouncer = PgBouncer.start(this.testDatabase)) {
			NotificationConnectionFactory pooled = by(bouncer.jdbcUrl());
			try (NotificationListener listener = listener(() -> {
				connects.incrementAndGet();
				return pooled.connect();
			}, IMPATIENT)) {
				listener.start(this.consumerId);
				// It takes two connections to look, so it has looked several times.
				await().untilAsserted(() -> assertThat(connects).hasValueGreaterThan(6));
				assertThat(listener.isListening()).isFalse();
				assertThat(listener.lastFailure()).contains("pooler");
				assertThat(locks()).isEmpty();
				assertThat(isMarked(this.consumerId)).isFalse();
			}
		}
		assertThat(this.received.news).isEmpty();
		assertThat(lines(output)).singleElement()
			.asString()
			.contains("WARN")
			.contains("pooler")
			.contains("pgbus.notifications.url");
	}

	@Test
	void poolerThatHandsSessionsOnIsFoundOutInSpiteOfTheTrafficOfOthers() throws InterruptedException {
		ExecutorService others = Executors.newCachedThreadPool();
		AtomicBoolean busy = new AtomicBoolean(true);
		AtomicInteger connects = new AtomicInteger();
		try (PgBouncer bouncer = PgBouncer.start(this.testDatabase)) {
			NotificationConnectionFactory pooled = by(bouncer.jdbcUrl());
			for (int i = 0; i < 6; i++) {
				others.submit(() -> {
					try (Connection connection = pooled.connect()) {
						while (busy.get()) {
							connection.createStatement().execute("select pg_sleep(random() * 0.003)");
						}
					}
					return null;
				});
			}
			try (NotificationListener listener = listener(() -> {
				connects.incrementAndGet();
				return pooled.connect();
			}, IMPATIENT)) {
				listener.start(this.consumerId);
				await().atMost(Duration.ofSeconds(30))
					.untilAsserted(() -> assertThat(connects).hasValueGreaterThan(40));
				assertThat(this.received.news).isEmpty();
				assertThat(locks()).isEmpty();
			}
			busy.set(false);
			others.shutdown();
			assertThat(others.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
		}
	}

	@Test
	void behindAPoolerThatKeepsSessionsListeningWorks() {
		try (PgBouncer bouncer = PgBouncer.start(this.testDatabase, PgBouncer.PoolMode.SESSION);
				NotificationListener listener = start(by(bouncer.jdbcUrl()), PATIENT)) {
			awaitLocked(this.consumerId);
			notify("pgbus", ":1");
			this.received.awaitStreams(1);
		}
	}

	@Test
	void connectionSaysWhoseItIsUnlessTheUrlDoes() throws SQLException {
		assertThat(applicationName(direct())).isEqualTo("pgbus");
		assertThat(applicationName(by(this.testDatabase.jdbcUrl() + "?ApplicationName=mine"))).isEqualTo("mine");
	}

	private static String applicationName(NotificationConnectionFactory factory) throws SQLException {
		try (Connection connection = factory.connect()) {
			var row = connection.createStatement().executeQuery("show application_name");
			row.next();
			return row.getString(1);
		}
	}

	private static int createBus(TestDatabase database, String schema) {
		BusDatabase bus = new BusDatabase(database.dataSource(), schema);
		new SchemaInitializer(bus).migrate();
		return new ConsumerStore(bus).register("test", Duration.ofMinutes(1));
	}

	private BusDatabase bus() {
		return new BusDatabase(this.testDatabase.dataSource(), "pgbus");
	}

	private NotificationConnectionFactory direct() {
		return direct(this.testDatabase);
	}

	private static NotificationConnectionFactory direct(TestDatabase database) {
		return NotificationConnectionFactory.of(database.jdbcUrl(), database.username(), database.password());
	}

	private NotificationConnectionFactory by(String url) {
		return NotificationConnectionFactory.of(url, this.testDatabase.username(), this.testDatabase.password());
	}

	private NotificationListener listener(NotificationConnectionFactory connections, Timing timing) {
		return new NotificationListener(bus(), connections, this.received, THREAD, timing);
	}

	/** Starts a listener and takes the first wake-up, for any stream. */
	private NotificationListener start(NotificationConnectionFactory connections, Timing timing) {
		NotificationListener listener = listener(connections, timing);
		listener.start(this.consumerId);
		this.received.awaitAny();
		return listener;
	}

	private void notify(String channel, String message) {
		this.testDatabase.jdbc().sql("select pg_notify(?, ?)").params(channel, message).query().listOfRows();
	}

	private void terminateListeners() {
		this.testDatabase.jdbc().sql("""
				select pg_terminate_backend(pid, 10000) from pg_stat_activity
				where application_name = 'pgbus' and datname = current_database()""").query().listOfRows();
	}

	private void awaitLocked(int id) {
		await().untilAsserted(() -> {
			assertThat(locks()).containsExactly(id);
			assertThat(isMarked(id)).isTrue();
		});
	}

	private List<Integer> locks() {
		return this.testDatabase.jdbc().sql(LOCKS).query(Integer.class).list();
	}

	private boolean isMarked(int id) {
		return this.testDatabase.jdbc()
			.sql("select locked from pgbus.consumer where id = ?")
			.param(id)
			.query(Boolean.class)
			.single();
	}

	private static void assertLostAndFoundOnce(CapturedOutput output) {
		assertThat(lines(output)).satisfiesExactly(
				(line) -> assertThat(line).contains("INFO").contains("Listening for wake-ups on channel \"pgbus\""),
				(line) -> assertThat(line).contains("WARN").contains("Lost the connection").contains("polling"),
				(line) -> assertThat(line).contains("INFO").contains("Listening again for wake-ups"));
	}

	private static List<String> lines(CapturedOutput output) {
		return output.getOut().lines().filter((line) -> line.contains("wake-ups")).toList();
	}

	private static long threads() {
		return Thread.getAllStackTraces().keySet().stream().filter((thread) -> thread.getName().equals(THREAD)).count();
	}

	/**
	 * Keeps the news. Any stream is the empty set.
	 */
	private static final class Received implements NotificationReceiver {

		private final BlockingQueue<Set<Integer>> news = new LinkedBlockingQueue<>();

		@Override
		public void published(Set<Integer> streamIds) {
			this.news.add(streamIds);
		}

		@Override
		public void publishedToAny() {
			this.news.add(Set.of());
		}

		void awaitAny() {
			awaitStreams();
		}

		void awaitStreams(Integer... streamIds) {
			try {
				assertThat(this.news.poll(30, TimeUnit.SECONDS)).as("news").containsExactlyInAnyOrder(streamIds);
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
		}

	}

}
