package io.pgbus.replication;

import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import io.pgbus.PgBusException;
import io.pgbus.replication.CaptureBus.Captured;
import io.pgbus.replication.CaptureStatus.State;
import io.pgbus.store.CaptureGap;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Changes that the server no longer has are never left out silently.
 */
@ExtendWith(OutputCaptureExtension.class)
class CaptureGapIntegrationTests {

	private CaptureBus bus;

	@BeforeEach
	void create() {
		this.bus = new CaptureBus();
		prepare(this.bus);
	}

	private static void prepare(CaptureBus bus) {
		bus.run("create table orders (id bigint primary key, status text)");
		bus.listen("orders");
	}

	@AfterEach
	void close() {
		this.bus.close();
	}

	/** Captures one change, stops, and lets one be missed. */
	private static void captureOneAndMissOne(CaptureBus bus, Runnable harm) {
		bus.capturing();
		bus.run("insert into orders values (1, 'captured')");
		bus.awaitEvents(1);
		bus.stopAll();
		bus.run("insert into orders values (2, 'missed')");
		harm.run();
	}

	@Test
	void aSlotThatIsGoneStopsTheCaptureLoudlyUntilItIsToldToGoOn(CapturedOutput output) {
		captureOneAndMissOne(this.bus, this.bus::dropSlot);
		Capture capture = this.bus.start(this.bus.connections(""));
		CaptureBus.await(capture, State.GAP);
		CaptureStatus status = capture.status();
		String reason = "The server has no replication slot \"" + this.bus.settings.slot()
				+ "\" any more, and so not the changes that were not read.";
		assertThat(status.failure()).isEqualTo(reason);
		assertThat(status.remedy()).isEqualTo("To go on with what is committed from now on, resume the capture through "
				+ "the endpoint, or set pgbus.capture.on-gap=resume; then read again the tables whose changes matter.");
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> capture.awaitSlot(Duration.ofSeconds(1)))
			.withMessageContaining(reason);
		// it looks again and again, and says so once
		await().during(Duration.ofSeconds(1)).until(() -> capture.status().state() == State.GAP);
		assertThat(output.toString().split("Changes of tables were missed", -1)).hasSize(2);
		assertThat(this.bus.slot()).isNull();
		assertThat(this.bus.store.gaps()).singleElement().satisfies((gap) -> {
			assertThat(gap.reason()).isEqualTo(reason);
			assertThat(gap.to()).isNull();
		});
		assertThat(capture.resume()).isTrue();
		assertGoesOn(this.bus, capture, reason);
		assertThat(capture.resume()).isFalse();
	}

	@Test
	void aSlotThatWasMadeAnewStopsTheCapture() {
		captureOneAndMissOne(this.bus, () -> {
			this.bus.dropSlot();
			this.bus.jdbc.sql("select pg_create_logical_replication_slot(?, 'pgoutput')::text")
				.param(this.bus.settings.slot())
				.query(String.class)
				.single();
		});
		assertStopsAndGoesOn("was made anew or advanced by others.");
	}

	@Test
	void aSlotThatWasAdvancedByOthersStopsTheCapture() {
		captureOneAndMissOne(this.bus, () -> await().until(() -> {
			if (this.bus.existingSlot().isActive()) {
				return false;
			}
			this.bus.jdbc.sql("select pg_replication_slot_advance(?, pg_current_wal_lsn())::text")
				.param(this.bus.settings.slot())
				.query(String.class)
				.single();
			return true;
		}));
		assertStopsAndGoesOn("was made anew or advanced by others.");
	}

	@Test
	void anotherClusterStopsTheCapture() {
		captureOneAndMissOne(this.bus, () -> this.bus.run("update pgbus.capture_state set system_id = '42'"));
		Capture capture = this.bus.start(this.bus.connections(""));
		CaptureBus.await(capture, State.GAP);
		assertThat(capture.status().failure())
			.startsWith("The database is in another cluster than before: its system " + "identifier is ")
			.endsWith(" and was 42.");
	}

	@Test
	void aLogThatEndsBeforeTheCheckpointStopsTheCapture() {
		captureOneAndMissOne(this.bus,
				() -> this.bus.run("update pgbus.capture_state set commit_lsn = 'FFF/0', confirmed_lsn = 'FFF/0'"));
		Capture capture = this.bus.start(this.bus.connections(""));
		CaptureBus.await(capture, State.GAP);
		assertThat(capture.status().failure()).startsWith("The server's write-ahead log ends at ")
			.endsWith(", before what was captured, FFF/0: it lost changes, or was set back.");
	}

	@Test
	void aSlotOfAnotherNameStopsTheCapture() {
		captureOneAndMissOne(this.bus, () -> this.bus.run("update pgbus.capture_state set slot = 'before'"));
		Capture capture = this.bus.start(this.bus.connections(""));
		CaptureBus.await(capture, State.GAP);
		assertThat(capture.status().failure()).startsWith(
				"Changes were read from the replication slot \"before\" until " + "now, and are to be read from ");
	}

	@Test
	void aPublicationThatWasDroppedStopsTheCapture(CapturedOutput output) {
		captureOneAndMissOne(this.bus,
				() -> this.bus.run("drop publication pgbus", "insert into orders values (4, 'while it was missing')"));
		this.bus.listen("orders");
		Capture capture = this.bus.start(this.bus.connections(""));
		CaptureBus.await(capture, State.GAP);
		assertThat(capture.status().failure()).startsWith("The publication was dropped, so the server cannot tell the "
				+ "changes from before it was made anew: ");
		await().during(Duration.ofSeconds(1)).until(() -> capture.status().state() == State.GAP);
		assertThat(output.toString().split("Changes of tables were missed", -1)).hasSize(2);
		assertThat(capture.resume()).isTrue();
		CaptureBus.await(capture, State.CAPTURING);
		this.bus.run("insert into orders values (3, 'after')");
		await().until(() -> this.bus.events().stream().anyMatch((event) -> event.key().equals("[3]")));
		assertThat(this.bus.events()).extracting(Captured::type).contains("gap");
		assertThat(this.bus.events()).extracting(Captured::key).contains("[1]", "[3]").doesNotContain("[4]");
	}

	@Test
	void aSlotThatTheServerHasGivenUpStopsTheCapture() {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of("max_slot_wal_keep_size", "1MB", "min_wal_size",
				"32MB", "max_wal_size", "32MB", "wal_keep_size", "0"))) {
			CaptureBus own = new CaptureBus(server.createDatabase());
			prepare(own);
			captureOneAndMissOne(own, () -> await().until(() -> {
				own.run("create table if not exists filler (text text)",
						"insert into filler select repeat(md5(i::text), 30) from generate_series(1, 20000) i",
						"do $$ begin perform pg_switch_wal(); end $$", "checkpoint");
				return own.existingSlot().isLost();
			}));
			Capture capture = own.start(own.connections(""));
			CaptureBus.await(capture, State.GAP);
			assertThat(capture.status().failure()).isEqualTo("The server has given up the replication slot \""
					+ own.settings.slot() + "\" (wal_removed), with the changes that were not read.");
			assertThat(capture.resume()).isTrue();
			assertGoesOn(own, capture, "The server has given up");
			own.stopAll();
		}
	}

	@Test
	void onGapResumeGoesOnByItselfAndTellsTheGroups(CapturedOutput output) {
		captureOneAndMissOne(this.bus, this.bus::dropSlot);
		this.bus.onGap(GapPolicy.RESUME);
		Capture capture = this.bus.start(this.bus.connections(""));
		assertGoesOn(this.bus, capture, "The server has no replication slot");
		assertThat(output.toString()).contains("Changes of tables were missed, and the capture goes on without them.");
	}

	@Test
	void aGapThatAnotherInstanceHasEndedIsNone() {
		captureOneAndMissOne(this.bus, this.bus::dropSlot);
		Capture first = this.bus.start(this.bus.connections(""));
		Capture second = this.bus.start(this.bus.connections(""));
		CaptureBus.await(first, State.GAP);
		CaptureBus.await(second, State.GAP);
		first.resume();
		CaptureBus.await(first, State.CAPTURING);
		CaptureBus.await(second, State.STANDBY);
		assertThat(this.bus.store.gaps().stream().filter((gap) -> gap.to() != null)).hasSize(1);
	}

	@Test
	void aSlotIsDroppedOnlyIfNobodyUsesIt() throws Exception {
		Capture capture = this.bus.capturing();
		assertThatExceptionOfType(PgBusException.class).isThrownBy(capture::dropSlot)
			.withMessageContaining("is in use by the server process")
			.withMessageContaining("Stop the table listeners of all instances first.");
		capture.close();
		await().until(() -> !this.bus.existingSlot().isActive());
		assertThat(capture.dropSlot()).isTrue();
		assertThat(this.bus.slot()).isNull();
		assertThat(capture.dropSlot()).isFalse();
		try (Connection connection = this.bus.database.connect(); Statement statement = connection.createStatement()) {
			statement.execute("insert into orders values (3, 'not kept for anybody')");
		}
	}

	private void assertStopsAndGoesOn(String reason) {
		Capture capture = this.bus.start(this.bus.connections(""));
		CaptureBus.await(capture, State.GAP);
		assertThat(capture.status().failure()).endsWith(reason);
		assertThat(capture.status().remedy()).isNotNull();
		assertThat(this.bus.count()).isEqualTo(1);
		assertThat(capture.resume()).isTrue();
		assertGoesOn(this.bus, capture, "The server has forgotten changes up to ");
	}

	private static void assertGoesOn(CaptureBus bus, Capture capture, String reason) {
		CaptureBus.await(capture, State.CAPTURING);
		bus.run("insert into orders values (3, 'after')");
		List<Captured> events = bus.awaitEvents(3);
		assertThat(events).extracting(Captured::type).containsExactly("insert", "gap", "insert");
		assertThat(events.get(2).key()).isEqualTo("[3]");
		CaptureGap gap = bus.store.gaps().get(0);
		assertThat(gap.reason()).startsWith(reason);
		assertThat(gap.from()).isNotNull();
		assertThat(Objects.requireNonNull(gap.to())).isGreaterThan(Objects.requireNonNull(gap.from()));
	}

}
