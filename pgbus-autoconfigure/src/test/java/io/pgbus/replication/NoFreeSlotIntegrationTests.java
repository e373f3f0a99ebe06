package io.pgbus.replication;

import java.time.Duration;
import java.util.Map;

import io.pgbus.PgBusException;
import io.pgbus.replication.CaptureStatus.State;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class NoFreeSlotIntegrationTests {

	@Test
	void aServerWithoutAFreeSlotIsNamedWithItsRemedyAndTriedAgain() {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of("max_replication_slots", "1"));
				CaptureBus bus = new CaptureBus(server.createDatabase())) {
			bus.run("create table orders (id bigint primary key)");
			bus.listen("orders");
			bus.jdbc.sql("select pg_create_physical_replication_slot('foreign')::text").query(String.class).single();
			Capture capture = bus.start(bus.connections(""));
			CaptureBus.await(capture, State.FAILING);
			assertThat(capture.status().failure()).contains(bus.settings.slot(), "Raise max_replication_slots");
			assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> capture.awaitSlot(Duration.ZERO))
				.withMessageContaining("Raise max_replication_slots");
			bus.jdbc.sql("select pg_drop_replication_slot('foreign')::text").query(String.class).single();
			CaptureBus.await(capture, State.CAPTURING);
			bus.run("insert into orders values (1)");
			bus.awaitEvents(1);
		}
	}

}
