package io.pgbus.listener;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.pgbus.DeliveryMode;
import io.pgbus.OutgoingEvent;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.OwnServer.StopMode;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A database that goes away under handlers: no attempt is spent, and nothing is lost.
 */
class OutageTrialsIntegrationTests {

	private static OwnServer server;

	private TestBus bus;

	private final Queue<String> attempts = new ConcurrentLinkedQueue<>();

	@BeforeAll
	static void startServer() {
		server = TestDatabase.startOwnServer(Map.of());
	}

	@AfterAll
	static void stopServer() {
		if (server != null) {
			server.close();
		}
	}

	@BeforeEach
	void createBus() {
		server.start();
		this.bus = new TestBus(server.createDatabase());
		this.bus.jdbc.sql("create table effect (ordinal integer generated always as identity, n integer)").update();
	}

	@AfterEach
	void close() {
		server.start();
		this.bus.close();
	}

	@ParameterizedTest
	@CsvSource({ "EXACTLY_ONCE, IMMEDIATE, true", "EXACTLY_ONCE, IMMEDIATE, false", "EXACTLY_ONCE, FAST, true",
			"AT_LEAST_ONCE, IMMEDIATE, true", "AT_LEAST_ONCE, FAST, false" })
	void aDatabaseThatGoesAwayDuringAHandlerSpendsNoAttempt(DeliveryMode mode, StopMode stopMode,
			boolean handlerMeetsIt) {
		CountDownLatch inHandler = new CountDownLatch(1);
		CountDownLatch isDown = new CountDownLatch(1);
		TestBus.Instance instance = this.bus.instance();
		instance.registry
			.register(PgListenerEndpoint.id("l").streams("s").delivery(mode).onEvent(Integer.class, (event) -> {
				this.attempts.add(event.payload() + "/" + event.attempt());
				if (!handlerMeetsIt) {
					addEffect(event.payload());
				}
				if (event.payload() == 3) {
					inHandler.countDown();
					awaitLatch(isDown);
				}
				if (handlerMeetsIt) {
					addEffect(event.payload());
				}
			}));
		instance.publisher
			.publishAll(IntStream.range(0, 8).mapToObj((i) -> OutgoingEvent.to("s").key("k").payload(i)).toList());
		awaitLatch(inHandler);
		server.stop(stopMode);
		isDown.countDown();
		server.start();
		await().atMost(30, TimeUnit.SECONDS).untilAsserted(() -> assertThat(effects()).contains(7));
		assertThat(this.bus.failedEvents()).isEmpty();
		assertThat(this.attempts).allMatch((attempt) -> attempt.endsWith("/1"));
		if (mode == DeliveryMode.EXACTLY_ONCE) {
			assertThat(effects()).containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
		}
		else {
			assertThat(effects()).contains(0, 1, 2, 3, 4, 5, 6, 7);
		}
		await().until(() -> instance.registry.find("l").state() == PgListenerContainer.State.RUNNING);
	}

	@Test
	void anOutageDuringARetrySpendsNoAttemptEither() {
		CountDownLatch inRetry = new CountDownLatch(1);
		CountDownLatch isDown = new CountDownLatch(1);
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l").streams("s").onEvent(Integer.class, (event) -> {
			this.attempts.add(event.payload() + "/" + event.attempt());
			addEffect(event.payload());
			if (event.payload() == 1 && event.attempt() == 1) {
				throw new IllegalStateException("not yet");
			}
			if (event.payload() == 1) {
				inRetry.countDown();
				awaitLatch(isDown);
			}
		}));
		instance.publisher
			.publishAll(IntStream.range(0, 4).mapToObj((i) -> OutgoingEvent.to("s").key("k").payload(i)).toList());
		awaitLatch(inRetry);
		server.stop(StopMode.IMMEDIATE);
		isDown.countDown();
		server.start();
		await().atMost(30, TimeUnit.SECONDS).untilAsserted(() -> assertThat(effects()).containsExactly(0, 1, 2, 3));
		assertThat(this.attempts).containsOnly("0/1", "1/1", "1/2", "2/1", "3/1");
		assertThat(this.bus.failedEvents()).isEmpty();
	}

	@Test
	void aServerThatHasBecomeReadOnlySpendsNoAttempt() {
		TestBus.Instance instance = this.bus.instance();
		CountDownLatch inHandler = new CountDownLatch(1);
		CountDownLatch isReadOnly = new CountDownLatch(1);
		instance.registry.register(PgListenerEndpoint.id("l").streams("s").onEvent(Integer.class, (event) -> {
			this.attempts.add(event.payload() + "/" + event.attempt());
			if (event.payload() == 0) {
				inHandler.countDown();
				awaitLatch(isReadOnly);
			}
			addEffect(event.payload());
		}));
		instance.publisher
			.publishAll(IntStream.range(0, 4).mapToObj((i) -> OutgoingEvent.to("s").key("k").payload(i)).toList());
		awaitLatch(inHandler);
		this.bus.jdbc.sql("alter database " + this.bus.testDatabase.name() + " set default_transaction_read_only = on")
			.update();
		this.bus.jdbc
			.sql("select pg_terminate_backend(pid) from pg_stat_activity "
					+ "where datname = current_database() and pid <> pg_backend_pid()")
			.query()
			.listOfRows();
		isReadOnly.countDown();
		await().atMost(30, TimeUnit.SECONDS)
			.until(() -> instance.registry.find("l").state() == PgListenerContainer.State.BACKING_OFF);
		this.bus.jdbc.sql("select pg_sleep(1)").query().listOfRows();
		this.bus.jdbc.sql("alter database " + this.bus.testDatabase.name() + " reset default_transaction_read_only")
			.update();
		server.restart(StopMode.FAST);
		await().atMost(30, TimeUnit.SECONDS).untilAsserted(() -> assertThat(effects()).containsExactly(0, 1, 2, 3));
		assertThat(this.attempts).allMatch((attempt) -> attempt.endsWith("/1"));
		assertThat(this.bus.failedEvents()).isEmpty();
	}

	private void addEffect(int n) {
		JdbcClient.create(this.bus.dataSource).sql("insert into effect (n) values (?)").param(n).update();
	}

	private List<Integer> effects() {
		return this.bus.jdbc.sql("select n from effect order by ordinal").query(Integer.class).list();
	}

	private static void awaitLatch(CountDownLatch latch) {
		try {
			assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
