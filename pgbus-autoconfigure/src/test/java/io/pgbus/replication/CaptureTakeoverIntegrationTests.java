package io.pgbus.replication;

import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.LongStream;

import io.pgbus.replication.CaptureBus.Captured;
import io.pgbus.replication.CaptureStatus.State;
import io.pgbus.store.CaptureCheckpoint;
import io.pgbus.testing.TcpProxy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * However a capture ends, the one that goes on appends each change once.
 */
class CaptureTakeoverIntegrationTests {

	private static final int LARGE = 200_000;

	private CaptureBus bus;

	@BeforeEach
	void create() {
		this.bus = new CaptureBus();
		this.bus.run("create table orders (id bigint primary key, status text)");
		this.bus.listen("orders");
	}

	@AfterEach
	void close() {
		this.bus.close();
	}

	@Test
	void aLargeTransactionArrivesOnceThoughItsCaptureIsKilledAtRandomPoints() {
		long seed = System.nanoTime();
		Random random = new Random(seed);
		Capture capture = this.bus.capturing();
		this.bus.run("insert into orders select i, 'new' from generate_series(1, " + LARGE + ") i");
		int kills = 0;
		for (long next = 1; next < LARGE; next = this.bus.count() + 1 + random.nextInt(25_000)) {
			long threshold = Math.min(next, LARGE);
			await().until(() -> this.bus.count() >= threshold);
			if (random.nextBoolean()) {
				this.bus.terminateCapture();
			}
			else {
				capture.close();
				capture = this.bus.start(this.bus.connections(""));
			}
			kills++;
		}
		this.bus.awaitEvents(LARGE);
		// what would come twice comes before this
		this.bus.run("insert into orders values (0, 'last')");
		List<Captured> events = this.bus.awaitEvents(LARGE + 1);
		assertThat(kills).as("seed %s", seed).isGreaterThan(3);
		assertThat(events.get(LARGE).key()).isEqualTo("[0]");
		assertThat(events.subList(0, LARGE)).extracting(Captured::ordinal)
			.as("seed %s", seed)
			.containsExactlyElementsOf(LongStream.rangeClosed(1, LARGE).boxed().toList());
		assertThat(events.subList(0, LARGE)).extracting(Captured::key)
			.as("seed %s", seed)
			.containsExactlyElementsOf(LongStream.rangeClosed(1, LARGE).mapToObj((id) -> "[" + id + "]").toList());
	}

	@Test
	void transactionsArriveOnceThoughTheirCaptureIsKilledAllTheTime() throws Exception {
		this.bus.capturing();
		int transactions = 300;
		try (Connection writer = this.bus.database.connect(); Statement statement = writer.createStatement()) {
			for (int i = 1; i <= transactions; i++) {
				statement.execute("insert into orders values (" + i + ", 'new')");
				if (i % 30 == 0) {
					this.bus.terminateCapture();
				}
			}
		}
		this.bus.awaitEvents(transactions);
		this.bus.run("insert into orders values (0, 'last')");
		List<Captured> events = this.bus.awaitEvents(transactions + 1);
		assertThat(events.subList(0, transactions)).extracting(Captured::key)
			.containsExactlyElementsOf(
					LongStream.rangeClosed(1, transactions).mapToObj((id) -> "[" + id + "]").toList());
		assertThat(events).hasSize(transactions + 1);
	}

	@Test
	void anInstanceThatStandsByTakesOver() {
		Capture first = this.bus.capturing();
		Capture second = this.bus.start(this.bus.connections(""));
		CaptureBus.await(second, State.STANDBY);
		assertThat(second.status().isLeader()).isFalse();
		assertThat(new Slot(this.bus.bus, this.bus.settings).status()).isNotNull();
		this.bus.run("insert into orders values (1, 'a')");
		this.bus.awaitEvents(1);
		assertThat(first.status().state()).isEqualTo(State.CAPTURING);
		first.close();
		CaptureBus.await(second, State.CAPTURING);
		this.bus.run("insert into orders values (2, 'b')");
		assertThat(this.bus.awaitEvents(2)).extracting(Captured::key).containsExactly("[1]", "[2]");
		assertThat(Objects.requireNonNull(this.bus.store.read()).holder()).isEqualTo("instance-1");
	}

	@Test
	void whoLostTheSlotWithoutKnowingAppendsNothing() {
		Capture first = this.bus.capturing();
		this.bus.run("insert into orders values (1, 'a')");
		this.bus.awaitEvents(1);
		CaptureCheckpoint seen = Objects.requireNonNull(this.bus.store.read());
		this.bus.store.takeOver(seen, "someone else");
		this.bus.run("insert into orders values (2, 'b')");
		// finds it lost, stands by, and takes over again, since nobody else has the slot
		await().until(() -> Objects.requireNonNull(this.bus.store.read()).holder().equals("instance-0"));
		assertThat(this.bus.awaitEvents(2)).extracting(Captured::key).containsExactly("[1]", "[2]");
		CaptureBus.await(first, State.CAPTURING);
	}

	@Test
	void aConnectionThatFallsSilentIsGivenUpOnceTheServerHasGivenItUp() {
		try (TcpProxy proxy = TcpProxy.start(this.bus.database)) {
			Capture capture = this.bus
				.start(this.bus.connectionsTo(proxy.jdbcUrl() + "?options=-c%20wal_sender_timeout=1s"));
			CaptureBus.await(capture, State.CAPTURING);
			proxy.silence();
			this.bus.run("insert into orders values (1, 'a')");
			assertThat(this.bus.awaitEvents(1)).extracting(Captured::key).containsExactly("[1]");
		}
	}

	@Test
	void aConnectionThatIsCutIsMadeAnew() {
		try (TcpProxy proxy = TcpProxy.start(this.bus.database)) {
			Capture capture = this.bus.start(this.bus.connectionsTo(proxy.jdbcUrl()));
			CaptureBus.await(capture, State.CAPTURING);
			proxy.cut();
			this.bus.run("insert into orders values (1, 'a')");
			assertThat(this.bus.awaitEvents(1)).extracting(Captured::key).containsExactly("[1]");
			CaptureBus.await(capture, State.CAPTURING);
			assertThat(capture.status().failure()).isNull();
		}
	}

	@Test
	void aStoppedCaptureMayBeStartedAgain() {
		Capture capture = this.bus.capturing();
		capture.close();
		capture.close();
		assertThat(capture.status().state()).isEqualTo(State.STOPPED);
		this.bus.run("insert into orders values (1, 'a')");
		assertThat(this.bus.count()).isZero();
		capture.start();
		assertThat(this.bus.awaitEvents(1)).hasSize(1);
	}

}
