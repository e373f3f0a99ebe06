package io.pgbus.autoconfigure;

import java.util.Map;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.PgBusException;
import io.pgbus.replication.Capture;
import io.pgbus.replication.CaptureStatus.State;
import io.pgbus.testing.DataMove;
import io.pgbus.testing.LogicalReplication;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.ServerWithStandby;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.Test;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tables that are listened to, on a server to which they were moved: the slot is not
 * there, or is one that a standby has kept.
 */
class MovedCaptureIntegrationTests {

	private final MovedTable table = new MovedTable();

	@Test
	void changesThatWereMissedByADumpAreAGapUntilSomeoneSaysToGoOn() {
		try (OwnServer server = TestDatabase.startInstalledServer(Map.of());
				TestDatabase target = TestDatabase.create()) {
			TestDatabase source = server.createDatabase();
			MovedTable.create(source);
			workAtTheSource(source);
			MovedTable.insert(source, 3);
			DataMove.dumpAndRestore(server, source, target);
			workAtTheTarget(target);
			this.table.dropSlot(target);
		}
	}

	@Test
	void changesThatWereMissedByReplicationAreAGapUntilSomeoneSaysToGoOn() {
		try (OwnServer server = LogicalReplication.startSubscriber(); TestDatabase source = TestDatabase.create()) {
			TestDatabase target = server.createDatabase();
			MovedTable.create(source);
			MovedTable.create(target);
			BusApplication.on(source).run((context) -> assertThat(context).hasNotFailed());
			BusApplication.on(target).run((context) -> assertThat(context).hasNotFailed());
			try (LogicalReplication replication = LogicalReplication.start(source, target)) {
				replication.awaitCopied();
				workAtTheSource(source);
				MovedTable.insert(source, 3);
				replication.awaitCaughtUp();
			}
			workAtTheTarget(target);
			this.table.dropSlot(source);
		}
	}

	/** One change is handled, one is captured only. */
	private void workAtTheSource(TestDatabase source) {
		this.table.application(source).run((context) -> {
			MovedTable.awaitState(context, State.CAPTURING);
			MovedTable.insert(source, 1);
			MovedTable.awaitGiven(source, "INSERT 1");
			context.getBean(ConsumerGroupOperations.class).pauseGroup("copy");
			MovedTable.insert(source, 2);
			await().until(() -> source.jdbc()
				.sql("select exists (select from pgbus.event where key = '[2]')")
				.query(Boolean.class)
				.single());
		});
	}

	private void workAtTheTarget(TestDatabase target) {
		JdbcClient jdbc = target.jdbc();
		this.table.application(target)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("rebase()"));
		jdbc.sql("select pgbus.rebase()").query().listOfRows();
		this.table.application(target).run((context) -> {
			MovedTable.awaitState(context, State.GAP);
			Capture capture = context.getBean(Capture.class);
			assertThat(capture.status().failure()).startsWith("The database is in another cluster than before");
			context.getBean(ConsumerGroupOperations.class).resumeGroup("copy");
			MovedTable.awaitGiven(target, "INSERT 1", "INSERT 2");
			MovedTable.insert(target, 4);
			capture.resume();
			MovedTable.awaitState(context, State.CAPTURING);
			MovedTable.insert(target, 5);
			MovedTable.awaitGiven(target, "GAP", "INSERT 1", "INSERT 2", "INSERT 5");
			MovedTable.backfill(context);
			MovedTable.awaitGiven(target, "GAP", "INSERT 1", "READ 1", "INSERT 2", "READ 2", "READ 3", "READ 4",
					"INSERT 5", "READ 5");
			jdbc.sql("update orders set status = 'sent' where id = 3").update();
			await().untilAsserted(() -> assertThat(MovedTable.given(target)).contains("UPDATE 3"));
		});
	}

	@Test
	void aStandbyThatHasNotKeptTheSlotIsAGap() {
		try (ServerWithStandby servers = ServerWithStandby.start()) {
			TestDatabase database = servers.createDatabase();
			MovedTable.create(database);
			this.table.application(database).run((context) -> {
				MovedTable.awaitState(context, State.CAPTURING);
				MovedTable.insert(database, 1);
				MovedTable.awaitGiven(database, "INSERT 1");
				servers.failOver();
				MovedTable.awaitState(context, State.GAP);
				Capture capture = context.getBean(Capture.class);
				assertThat(capture.status().failure()).startsWith("The server has no replication slot");
				await().ignoreExceptions().untilAsserted(() -> MovedTable.insert(database, 2));
				capture.resume();
				MovedTable.awaitState(context, State.CAPTURING);
				MovedTable.insert(database, 3);
				MovedTable.awaitGiven(database, "GAP", "INSERT 1", "INSERT 3");
				MovedTable.backfill(context);
				MovedTable.awaitGiven(database, "GAP", "INSERT 1", "READ 1", "READ 2", "INSERT 3", "READ 3");
			});
		}
	}

	@Test
	void aStandbyThatHasKeptTheSlotGivesEachChangeOnce() {
		try (ServerWithStandby servers = ServerWithStandby.start()) {
			TestDatabase database = servers.createDatabase();
			MovedTable.create(database);
			this.table.application(database).withPropertyValues("pgbus.capture.failover=true").run((context) -> {
				MovedTable.awaitState(context, State.CAPTURING);
				MovedTable.insert(database, 1);
				MovedTable.awaitGiven(database, "INSERT 1");
				servers.syncSlot(this.table.slot);
				MovedTable.insert(database, 2);
				servers.failOver();
				await().ignoreExceptions().untilAsserted(() -> MovedTable.insert(database, 3));
				MovedTable.awaitGiven(database, "INSERT 1", "INSERT 2", "INSERT 3");
				MovedTable.awaitState(context, State.CAPTURING);
			});
		}
	}

}
