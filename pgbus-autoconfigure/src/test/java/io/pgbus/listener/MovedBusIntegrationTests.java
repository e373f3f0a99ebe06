package io.pgbus.listener;

import java.time.Duration;
import java.util.Map;

import io.pgbus.PgBusException;
import io.pgbus.testing.DataMove;
import io.pgbus.testing.LogicalReplication;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.Test;

import org.springframework.jdbc.UncategorizedSQLException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Groups that are at work while everything they do it with is moved.
 */
class MovedBusIntegrationTests {

	/** More than all of this uses. */
	private static final int FAR = 50_000;

	@Test
	void nothingIsMissingOrDoubledWhereRunningGroupsWereCopiedToAServerThatIsBehind() throws Exception {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of())) {
			TestDatabase source = TestDatabase.create();
			TestDatabase target = server.createDatabase();
			DataMove.useTransactionIds(source, FAR);
			createTables(target);
			copyAtWork(source, target, () -> DataMove.copyRows(source, target, true));
			rebaseAndGoOn(target);
		}
	}

	@Test
	void nothingIsMissingOrDoubledWhereRunningGroupsWereDumpedAndRestoredOnAServerThatIsAhead() throws Exception {
		try (OwnServer server = TestDatabase.startInstalledServer(Map.of())) {
			TestDatabase source = server.createDatabase();
			TestDatabase target = TestDatabase.create();
			DataMove.useTransactionIds(target, FAR);
			copyAtWork(source, target, () -> DataMove.dumpAndRestore(server, source, target));
			rebaseAndGoOn(target);
		}
	}

	@Test
	void nothingIsMissingOrDoubledWhereRunningGroupsWereReplicatedToAServerThatIsBehind() throws Exception {
		try (OwnServer server = LogicalReplication.startSubscriber()) {
			TestDatabase source = TestDatabase.create();
			TestDatabase target = server.createDatabase();
			DataMove.useTransactionIds(source, FAR);
			replicateAtWork(source, target, () -> {
				createTables(target);
				LogicalReplication.empty(target);
			});
		}
	}

	@Test
	void nothingIsMissingOrDoubledWhereRunningGroupsWereReplicatedToAnotherVersionThatIsAhead() throws Exception {
		try (OwnServer server = TestDatabase.startInstalledServer(Map.of());
				OwnServer subscriber = LogicalReplication.startSubscriber()) {
			TestDatabase source = server.createDatabase();
			TestDatabase target = subscriber.createDatabase();
			DataMove.useTransactionIds(target, FAR);
			replicateAtWork(source, target, () -> DataMove.dumpAndRestoreSchema(server, source, target));
		}
	}

	private static void copyAtWork(TestDatabase source, TestDatabase target, Runnable move) throws Exception {
		try (MovingGroups groups = MovingGroups.start(source)) {
			groups.workOn();
			move.run();
		}
		assertThat(count(target, "pgbus.consumer")).isPositive();
	}

	private static void replicateAtWork(TestDatabase source, TestDatabase target, Runnable createTables)
			throws Exception {
		try (MovingGroups groups = MovingGroups.start(source)) {
			createTables.run();
			replicate(source, target, groups);
		}
		rebaseAndGoOn(target);
	}

	/** New transactions, late ones too, while rows are copied and afterwards. */
	private static void replicate(TestDatabase source, TestDatabase target, MovingGroups groups) throws Exception {
		try (LogicalReplication replication = LogicalReplication.subscribe(source, target)) {
			replication.awaitCopied();
			groups.workOn();
			assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> new TestBus(target))
				.withMessageContaining("drop subscription " + replication.name());
			replication.endWithAllKilled();
			assertThat(count(target, "pgbus.event")).isEqualTo(count(source, "pgbus.event"));
			assertThat(count(target, "pgbus.cursor_state where position < ceiling")).isPositive();
			assertThat(count(target, "pgbus.failed_event")).isPositive();
			target.jdbc()
				.sql("select setval('effect_ordinal_seq', (select max(ordinal) from effect))")
				.query(Long.class)
				.single();
		}
	}

	private static void rebaseAndGoOn(TestDatabase target) {
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> new TestBus(target))
			.withMessageContaining("rebase()");
		// the consumers of the copy may have been alive until now
		await().atMost(Duration.ofMinutes(1))
			.ignoreException(UncategorizedSQLException.class)
			.until(() -> target.jdbc().sql("select pgbus.rebase() >= 0").query(Boolean.class).single());
		MovingGroups.assertNothingIsMissingOrDoubled(target);
	}

	private static void createTables(TestDatabase target) {
		new TestBus(target);
		MovingGroups.createEffects(target);
	}

	private static long count(TestDatabase database, String from) {
		return database.jdbc().sql("select count(*) from " + from).query(Long.class).single();
	}

}
