package io.pgbus.listener;

import io.pgbus.testing.ServerWithStandby;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Groups that are at work while their server dies and its standby takes its place.
 */
class PromotedStandbyIntegrationTests {

	@Test
	void groupsGoOnWithAPromotedStandbyAndNothingIsMissingOrDoubled() throws Exception {
		try (ServerWithStandby servers = ServerWithStandby.start()) {
			TestDatabase database = servers.createDatabase();
			try (MovingGroups groups = MovingGroups.start(database)) {
				groups.prepare("committed afterwards");
				groups.workOn();
				servers.failOver();
				groups.awaitTheyGoOn();
				groups.commitPrepared("committed afterwards");
				groups.assertNothingIsMissingOrDoubled();
				assertThat(database.jdbc().sql("select pgbus.is_moved()").query(Boolean.class).single()).isFalse();
			}
		}
	}

}
