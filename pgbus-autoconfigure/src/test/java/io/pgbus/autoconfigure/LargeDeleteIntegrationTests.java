package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.Map;

import io.pgbus.listener.InstanceProcess;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.Test;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * One transaction deletes more rows than fit into the memory of the one who captures
 * them, from a server that soon gives up who does not answer: by default 200,000 rows, so
 * that the suite does not take too long. With
 * <code>-Dpgbus.capture.deletes=1000000</code> it is the million that it is meant to be.
 */
class LargeDeleteIntegrationTests {

	private static final int ROWS = Integer.getInteger("pgbus.capture.deletes", 200_000);

	@Test
	void aLargeDeleteArrivesWithLittleMemoryFromAServerThatSoonGivesUp() {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of("wal_sender_timeout", "5s"))) {
			TestDatabase database = server.createDatabase();
			JdbcClient jdbc = database.jdbc();
			CapturingMain.createTables(jdbc);
			jdbc.sql("insert into counter select k, 0 from generate_series(1, ?) k").param(ROWS).update();
			try (InstanceProcess process = CapturingMain.start(database, "128m", "pgbus.capture.trim-interval=1s",
					"pgbus.listener.batch-size=1000")) {
				await().atMost(Duration.ofMinutes(2)).ignoreExceptions().until(() -> reader(jdbc) != 0);
				int reader = reader(jdbc);
				jdbc.sql("delete from counter").update();
				await().atMost(Duration.ofMinutes(10))
					.until(() -> !process.isAlive()
							|| jdbc.sql("select count(*) from delivered").query(Integer.class).single() >= ROWS);
				assertThat(process.isAlive()).isTrue();
				assertThat(reader(jdbc)).as("the connection that reads").isEqualTo(reader);
			}
			assertThat(jdbc.sql("select count(*) as changes, count(distinct key) as rows from delivered")
				.query()
				.singleRow()).isEqualTo(Map.of("changes", (long) ROWS, "rows", (long) ROWS));
			assertThat(jdbc.sql("select count(*) from pgbus.failed_event").query(Long.class).single()).isZero();
		}
	}

	/** The server's process that reads for the capture, once there is a state. */
	private static int reader(JdbcClient jdbc) {
		return jdbc.sql("""
				select coalesce(max(s.active_pid), 0)
				from pgbus.capture_state c join pg_replication_slots s on s.slot_name = c.slot""")
			.query(Integer.class)
			.single();
	}

}
