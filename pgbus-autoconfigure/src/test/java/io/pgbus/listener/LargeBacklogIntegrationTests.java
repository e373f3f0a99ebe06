package io.pgbus.listener;

import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * More events than fit into the memory of the one who comes to consume them: by default
 * 200,000 of 1 KiB for a heap of 128 MiB, so that the suite does not take too long. With
 * <code>-Dpgbus.backlog.events=1000000</code> it is the million that it is meant to be.
 */
class LargeBacklogIntegrationTests {

	private static final long EVENTS = Long.getLong("pgbus.backlog.events", 200_000);

	private static final int PAYLOAD_BYTES = 1024;

	private final TestBus bus = new TestBus();

	@AfterEach
	void close() {
		this.bus.close();
	}

	@Test
	void aBacklogThatDoesNotFitIntoMemoryIsConsumedWithLittleOfIt() {
		this.bus.jdbc.sql("create table consumed (events bigint, bytes bigint)").update();
		this.bus.jdbc.sql("insert into pgbus.stream (name, partitions) values (?, 8)")
			.param(BacklogMain.STREAM)
			.update();
		// with the quotes of the JSON string it is of that many bytes
		this.bus.jdbc.sql("""
				insert into pgbus.event (stream_id, partition, size, type, key, payload)
				select s.id, pgbus.partition_of('k' || n % 100, s.partitions), :bytes, 'String', 'k' || n % 100,
					to_jsonb(rpad(n || ' ', :bytes - 2, 'x'))
				from pgbus.stream s, generate_series(1, :events) n""")
			.param("bytes", PAYLOAD_BYTES)
			.param("events", EVENTS)
			.update();
		try (InstanceProcess process = InstanceProcess.start(BacklogMain.class, this.bus.testDatabase,
				List.of("-Xmx128m", "-XX:+ExitOnOutOfMemoryError"), "expected=" + EVENTS, "timeout=30000",
				"batch-size=100", "events-per-transaction=1")) {
			assertThat(process.waitFor()).isZero();
		}
		assertThat(this.bus.jdbc.sql("select * from consumed").query().singleRow()).containsEntry("events", EVENTS)
			.containsEntry("bytes", EVENTS * (PAYLOAD_BYTES - 2));
		assertThat(this.bus.failedEvents()).isEmpty();
		// a stop may come before a worker has looked whether there is more, so a window
		// may be open, but with
		// nothing left in it
		assertThat(this.bus.jdbc.sql("select sum(estimated_lag), count(consumer) from pgbus.group_status")
			.query()
			.singleRow()
			.values()).hasToString("[0, 0]");
	}

}
