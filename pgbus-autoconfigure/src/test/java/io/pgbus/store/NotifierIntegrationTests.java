package io.pgbus.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.jdbc.datasource.DelegatingDataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.awaitility.Awaitility.await;

@ExtendWith(OutputCaptureExtension.class)
class NotifierIntegrationTests {

	private static final Duration NEVER = Duration.ofHours(1);

	private TestDatabase testDatabase;

	private Connection listening;

	private final List<String> heard = new ArrayList<>();

	@BeforeEach
	void listen() throws SQLException {
		this.testDatabase = TestDatabase.create();
		this.listening = this.testDatabase.connect();
		try (Statement statement = this.listening.createStatement()) {
			statement.execute("listen pgbus");
		}
	}

	@AfterEach
	void close() throws SQLException {
		this.listening.close();
		this.testDatabase.close();
	}

	@Test
	void firstNotificationIsSentAtOnceAndNamesTheSender() {
		try (Notifier notifier = notifier(NEVER)) {
			notifier.published(3);
			awaitHeard("7:3");
		}
	}

	@Test
	void whatFollowsWithinAnIntervalIsSentAsOne() {
		Notifier notifier = notifier(NEVER);
		notifier.published(1);
		awaitHeard("7:1");
		for (int i = 0; i < 1000; i++) {
			notifier.published(2 + i % 3);
		}
		notifier.close();
		awaitHeard("7:1", "7:2,3,4");
	}

	@Test
	void whatFollowsIsSentWithoutAnotherPublication() {
		try (Notifier notifier = notifier(Duration.ofMillis(80))) {
			notifier.published(1);
			awaitHeard("7:1");
			notifier.published(2);
			awaitHeard("7:1", "7:2");
		}
	}

	@Test
	void closeSendsWhatIsPendingAndEndsTheThread() {
		Notifier notifier = notifier(NEVER);
		notifier.published(1);
		awaitHeard("7:1");
		notifier.published(2);
		notifier.close();
		awaitHeard("7:1", "7:2");
		assertThat(threads()).isZero();
		assertThatCode(() -> {
			notifier.close();
			notifier.published(3);
		}).doesNotThrowAnyException();
	}

	@Test
	void thereIsNoThreadBeforeTheFirstNotification() {
		try (Notifier notifier = notifier(NEVER)) {
			assertThat(threads()).isZero();
			notifier.published(1);
			assertThat(threads()).isOne();
		}
	}

	@Test
	void notificationIsCommittedAlsoWhereThePoolDoesNotDoThat() {
		DelegatingDataSource manual = new DelegatingDataSource(this.testDatabase.dataSource()) {
			@Override
			public Connection getConnection() throws SQLException {
				Connection connection = super.getConnection();
				connection.setAutoCommit(false);
				return connection;
			}
		};
		try (Notifier notifier = new Notifier(new BusDatabase(manual, "pgbus"), () -> 7, NEVER, "test-notifier")) {
			notifier.published(1);
			awaitHeard("7:1");
		}
	}

	@Test
	void failureIsLoggedOncePerChangeAndNeverThrown(CapturedOutput output) {
		AtomicBoolean down = new AtomicBoolean(true);
		DelegatingDataSource unreliable = new DelegatingDataSource(this.testDatabase.dataSource()) {
			@Override
			public Connection getConnection() throws SQLException {
				if (down.get()) {
					throw new SQLException("down");
				}
				return super.getConnection();
			}
		};
		AtomicBoolean attempted = new AtomicBoolean();
		try (Notifier notifier = new Notifier(new BusDatabase(unreliable, "pgbus"), () -> {
			attempted.set(true);
			return 7;
		}, Duration.ofMillis(1), "test-notifier")) {
			for (int i = 0; i < 3; i++) {
				attempted.set(false);
				notifier.published(1);
				await().untilTrue(attempted);
			}
			await().untilAsserted(() -> assertThat(lines(output)).hasSize(1));
			// What was pending while it was down may still come.
			down.set(false);
			notifier.published(2);
			await().untilAsserted(() -> assertThat(heard()).last().asString().contains("2"));
		}
		assertThat(lines(output)).satisfiesExactly(
				(line) -> assertThat(line).contains("cannot be sent").contains("down"),
				(line) -> assertThat(line).contains("can be sent again"));
	}

	private Notifier notifier(Duration interval) {
		return new Notifier(new BusDatabase(this.testDatabase.dataSource(), "pgbus"), () -> 7, interval,
				"test-notifier");
	}

	private void awaitHeard(String... messages) {
		await().untilAsserted(() -> assertThat(heard()).containsExactly(messages));
	}

	private List<String> heard() throws SQLException {
		for (PGNotification notification : this.listening.unwrap(PGConnection.class).getNotifications()) {
			this.heard.add(notification.getParameter());
		}
		return this.heard;
	}

	private static List<String> lines(CapturedOutput output) {
		return output.getOut().lines().filter((line) -> line.contains("Notifications to other instances")).toList();
	}

	private static long threads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> thread.getName().equals("test-notifier"))
			.count();
	}

}
