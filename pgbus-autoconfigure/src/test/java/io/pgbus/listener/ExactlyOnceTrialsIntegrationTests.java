package io.pgbus.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.pgbus.Event;
import io.pgbus.OutgoingEvent;
import io.pgbus.testing.TcpProxy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Exactly-once delivery where a read ends in the middle: what was done before is done,
 * whoever did it, and what was not is not. What an instance leaves behind that dies
 * between two events is put in place by SQL.
 * <p>
 * The tests of what a dead instance leaves were seen to fail where the ledger rows above
 * the position go with it ({@code Progress.handled}), and where a read after the first
 * does not look for done events ({@code CursorStore.advance}).
 */
class ExactlyOnceTrialsIntegrationTests {

	private final TestBus bus = new TestBus();

	private final Queue<String> attempts = new ConcurrentLinkedQueue<>();

	private final AtomicBoolean trouble = new AtomicBoolean(true);

	@BeforeEach
	void createEffects() {
		this.bus.partitions = Map.of("s", 1);
		this.bus.jdbc.sql("create table effect (ordinal integer generated always as identity, n integer)").update();
	}

	@AfterEach
	void close() {
		this.bus.close();
	}

	@Test
	void whatADeadInstanceHasDoneIsNotDoneAgainThoughTheNextReadIsCutShort() {
		TestBus.Instance instance = instanceWithGroup();
		publish(instance, 6);
		leaveDone(1, 2);
		listen(instance, (event) -> {
			if (event.payload() == 3) {
				loseConnectionOnce();
			}
		});
		await().untilAsserted(() -> assertThat(effects()).contains(6));
		assertThat(effects()).containsExactly(3, 4, 5, 6);
		await().untilAsserted(() -> assertThat(count("ledger")).isZero());
	}

	@Test
	void aFailedEventThatSucceedsAtLastIsNotHandledAgainThoughTheReadIsCutShort() {
		TestBus.Instance instance = instanceWithGroup();
		publish(instance, 4);
		leaveFailed(1, "0 s");
		listen(instance, (event) -> {
			if (event.payload() == 2) {
				loseConnectionOnce();
			}
		});
		await().untilAsserted(() -> assertThat(effects()).contains(4));
		assertThat(effects()).containsExactly(1, 2, 3, 4);
		await().untilAsserted(() -> assertThat(count("ledger")).isZero());
		assertThat(this.bus.failedEvents()).isEmpty();
	}

	@Test
	void aPauseBetweenARetryAndTheReadItCameWithRepeatsNothing() {
		TestBus.Instance instance = instanceWithGroup();
		publish(instance, 4);
		leaveFailed(1, "0 s");
		listen(instance, (event) -> {
			if (event.payload() == 1) {
				instance.registry.find("l").pause();
			}
		});
		await().untilAsserted(() -> assertThat(effects()).containsExactly(1));
		await().untilAsserted(() -> assertThat(heldCursors()).isZero());
		instance.registry.find("l").resume();
		await().untilAsserted(() -> assertThat(effects()).contains(4));
		assertThat(effects()).containsExactly(1, 2, 3, 4);
	}

	@Test
	void anInstanceThatReadsLessAtOnceThanTheDeadOneRepeatsNothing() {
		this.bus.batches(3, 1);
		TestBus.Instance instance = instanceWithGroup();
		publish(instance, 10);
		leaveDone(1, 2, 3, 5, 6, 7);
		leaveFailed(4, "1 h");
		// one without a key, which does not hold itself
		this.bus.jdbc.sql("update pgbus.event set key = null where payload = '4'").update();
		this.bus.jdbc.sql("update pgbus.failed_event set key = null, holds_key = false").update();
		listen(instance, (event) -> {
		});
		await().untilAsserted(() -> assertThat(effects()).contains(10));
		assertThat(effects()).containsExactly(8, 9, 10);
		assertThat(this.attempts).doesNotContain("4/1");
		this.bus.jdbc.sql("update pgbus.failed_event set next_attempt_at = clock_timestamp()").update();
		await().untilAsserted(() -> assertThat(effects()).containsExactly(8, 9, 10, 4));
		await().untilAsserted(() -> assertThat(count("ledger")).isZero());
	}

	@Test
	void aConnectionLostWhileCommittingRunsTheHandlerAgainIfNothingWasCommitted() {
		this.bus.jdbc.sql("""
				create function lose() returns trigger language plpgsql as $$
				begin
					-- a sequence is not rolled back
					if nextval('losses') = 1 then
						perform pg_terminate_backend(pg_backend_pid());
					end if;
					return null;
				end $$""").update();
		this.bus.jdbc.sql("create sequence losses").update();
		this.bus.jdbc.sql("""
				create constraint trigger lose after insert on effect deferrable initially deferred
				for each row when (new.n = 2) execute function lose()""").update();
		TestBus.Instance instance = instanceWithGroup();
		publish(instance, 3);
		listen(instance, (event) -> {
		});
		await().untilAsserted(() -> assertThat(effects()).containsExactly(1, 2, 3));
		assertThat(this.attempts).containsExactly("1/1", "2/1", "2/1", "3/1");
		assertThat(this.bus.failedEvents()).isEmpty();
	}

	@Test
	void aConnectionLostWhileCommittingDoesNotRunTheHandlerAgainIfAllWasCommitted() {
		this.bus.jdbc.sql("""
				create function linger() returns trigger language plpgsql as
				$$ begin perform pg_advisory_xact_lock(77); return null; end $$""").update();
		this.bus.jdbc.sql("""
				create constraint trigger linger after insert on effect deferrable initially deferred
				for each row when (new.n = 2) execute function linger()""").update();
		try (TcpProxy proxy = TcpProxy.start(this.bus.testDatabase); HikariDataSource pool = new HikariDataSource()) {
			pool.setJdbcUrl(proxy.jdbcUrl());
			pool.setUsername(this.bus.testDatabase.username());
			pool.setPassword(this.bus.testDatabase.password());
			pool.setMinimumIdle(0);
			TestBus.Instance instance = this.bus.instance(Duration.ofSeconds(30), pool);
			instance.registry.register(endpoint(pool, (event) -> {
			}));
			this.bus.transaction.executeWithoutResult((status) -> {
				client().sql("select pg_advisory_xact_lock(77)").query().listOfRows();
				publish(this.bus.instance(), 3);
				await().until(() -> waitingForAdvisoryLock() == 1);
				proxy.loseAnswers();
			});
			// it is committed; the answer is lost
			await().untilAsserted(() -> assertThat(effects()).containsExactly(1, 2));
			proxy.cut();
			await().untilAsserted(() -> assertThat(effects()).containsExactly(1, 2, 3));
			assertThat(this.attempts).containsExactly("1/1", "2/1", "3/1");
			assertThat(this.bus.failedEvents()).isEmpty();
			instance.registry.stop();
		}
	}

	@Test
	void aCallbackThatFailsAfterTheCommitIsNoReasonToRunTheHandlerAgain() {
		TestBus.Instance instance = instanceWithGroup();
		publish(instance, 3);
		listen(instance,
				(event) -> TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

					@Override
					public void afterCommit() {
						throw new IllegalStateException("after the commit of " + event.payload());
					}

				}));
		await().untilAsserted(() -> assertThat(effects()).contains(3));
		await().untilAsserted(() -> assertThat(heldCursors()).isZero());
		assertThat(this.attempts).containsExactly("1/1", "2/1", "3/1");
		assertThat(this.bus.failedEvents()).isEmpty();
	}

	/** An instance whose group is made, with nothing listening yet. */
	private TestBus.Instance instanceWithGroup() {
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(endpoint(this.bus.dataSource, (event) -> {
		}));
		instance.registry.unregister("l");
		return instance;
	}

	private void listen(TestBus.Instance instance, Handler handler) {
		instance.registry.register(endpoint(this.bus.dataSource, handler));
	}

	private PgListenerEndpoint endpoint(DataSource dataSource, Handler handler) {
		return PgListenerEndpoint.id("l").streams("s").onEvent(Integer.class, (event) -> {
			this.attempts.add(event.payload() + "/" + event.attempt());
			JdbcClient.create(dataSource).sql("insert into effect (n) values (?)").param(event.payload()).update();
			handler.handle(event);
		});
	}

	/** Publishes 1 to n in the one partition, each with another key. */
	private void publish(TestBus.Instance instance, int n) {
		this.bus.apart.executeWithoutResult((status) -> instance.publisher.publishAll(
				IntStream.rangeClosed(1, n).mapToObj((i) -> OutgoingEvent.to("s").key("k" + i).payload(i)).toList()));
	}

	/** Leaves what is left by an instance that handled these and died. */
	private void leaveDone(int... numbers) {
		for (int n : numbers) {
			this.bus.jdbc.sql("""
					insert into pgbus.ledger (cursor_id, event_id)
					select c.id, e.id from pgbus.cursor c, pgbus.event e where e.payload = to_jsonb(?)""")
				.param(n)
				.update();
		}
	}

	/** Leaves what is left by an instance that failed on this, went on and died. */
	private void leaveFailed(int n, String delay) {
		this.bus.jdbc.sql("""
				insert into pgbus.failed_event
					(cursor_id, event_id, key, type, state, holds_key, attempts, next_attempt_at)
				select c.id, e.id, e.key, e.type, 'retrying', true, 1, clock_timestamp() + ?::interval
				from pgbus.cursor c, pgbus.event e where e.payload = to_jsonb(?)""").param(delay).param(n).update();
	}

	private void loseConnectionOnce() {
		if (this.trouble.getAndSet(false)) {
			client().sql("select pg_terminate_backend(pg_backend_pid())").query().listOfRows();
		}
	}

	private JdbcClient client() {
		return JdbcClient.create(this.bus.dataSource);
	}

	private List<Integer> effects() {
		return this.bus.jdbc.sql("select n from effect order by ordinal").query(Integer.class).list();
	}

	private long count(String table) {
		return this.bus.jdbc.sql("select count(*) from pgbus." + table).query(Long.class).single();
	}

	private long heldCursors() {
		return this.bus.jdbc.sql("select count(*) from pgbus.cursor_state where owner is not null")
			.query(Long.class)
			.single();
	}

	private long waitingForAdvisoryLock() {
		// apart, since what a transaction has seen of pg_stat_activity it sees again
		return JdbcClient.create(new DelegatingDataSource(this.bus.dataSource))
			.sql("""
					select count(*) from pg_stat_activity
					where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'""")
			.query(Long.class)
			.single();
	}

	/**
	 * What the listener does besides its effect.
	 */
	private interface Handler {

		void handle(Event<Integer> event);

	}

}
