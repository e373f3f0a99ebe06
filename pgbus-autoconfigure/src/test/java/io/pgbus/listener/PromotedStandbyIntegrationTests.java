package io.pgbus.listener;

import java.util.Map;

import io.pgbus.testing.OwnServer;
import io.pgbus.testing.OwnServer.StopMode;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.Test;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Groups that are at work while their server dies and its standby takes its place.
 */
class PromotedStandbyIntegrationTests {

	@Test
	void groupsGoOnWithAPromotedStandbyAndNothingIsMissingOrDoubled() throws Exception {
		try (OwnServer primary = TestDatabase.startOwnServer(Map.of());
				OwnServer standby = primary.startStandby(Map.of())) {
			JdbcClient admin = primary.database("postgres").jdbc();
			// what is acknowledged is in the standby
			admin.sql("alter system set synchronous_standby_names = '*'").update();
			admin.sql("select pg_reload_conf()").query().listOfRows();
			await().until(() -> admin.sql("select count(*) = 1 from pg_stat_replication where sync_state = 'sync'")
				.query(Boolean.class)
				.single());
			TestDatabase database = primary.databaseHereOrIn(standby, primary.createDatabase().name());
			try (MovingGroups groups = MovingGroups.start(database)) {
				groups.prepare("committed afterwards");
				groups.workOn();
				primary.stop(StopMode.IMMEDIATE);
				standby.promote();
				groups.awaitTheyGoOn();
				groups.commitPrepared("committed afterwards");
				groups.assertNothingIsMissingOrDoubled();
				assertThat(database.jdbc().sql("select pgbus.is_moved()").query(Boolean.class).single()).isFalse();
			}
		}
	}

}
