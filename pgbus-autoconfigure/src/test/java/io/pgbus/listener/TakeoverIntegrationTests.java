package io.pgbus.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import com.zaxxer.hikari.HikariDataSource;
import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.OutgoingEvent;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * What becomes of the cursors of an instance that is killed, frozen, slow or closed. The
 * killed and the frozen are processes of their own ({@link InstanceMain}).
 */
class TakeoverIntegrationTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(3);

	private final TestBus bus = new TestBus();

	private final List<InstanceProcess> processes = new ArrayList<>();

	private final Queue<String> handled = new ConcurrentLinkedQueue<>();

	@AfterEach
	void close() {
		this.processes.forEach(InstanceProcess::close);
		this.bus.close();
	}

	@Test
	void aKilledProcessIsTakenOverAsItsLockIsGoneThoughItsHeartbeatIsFresh() {
		InstanceProcess victim = processInTheMiddleOfAnEvent();
		TestBus.Instance successor = successor();
		// so that only the lock can tell
		this.bus.jdbc.sql("update pgbus.consumer set heartbeat_at = 'infinity' where name = ?")
			.param(victim.consumerName())
			.update();
		await().untilAsserted(() -> assertThat(this.bus.jdbc.sql("select locked from pgbus.consumer where name = ?")
			.param(victim.consumerName())
			.query(Boolean.class)
			.single()).isTrue());
		victim.kill();
		assertTakenOver(successor);
	}

	@Test
	void aFrozenProcessIsTakenOverAfterItsTimeoutAndItsStaleTransactionHasNoEffectWhenItWakes() {
		InstanceProcess victim = processInTheMiddleOfAnEvent();
		TestBus.Instance successor = successor();
		victim.freeze();
		assertTakenOver(successor);
		this.bus.jdbc.sql("delete from blocked").update();
		victim.thaw();
		await().atMost(30, TimeUnit.SECONDS)
			.untilAsserted(() -> assertThat(this.bus.jdbc
				.sql("select count(*) from pgbus.member m, pgbus.consumer c where c.id = m.consumer_id and c.name = ?")
				.param(victim.consumerName())
				.query(Long.class)
				.single()).isEqualTo(3));
		// it takes part again, and closes what it held
		successor.registry.stop();
		publish(successor, 8, 16);
		await().atMost(30, TimeUnit.SECONDS)
			.untilAsserted(() -> assertThat(delivered()).containsAll(IntStream.range(0, 16).boxed().toList()));
		victim.end();
		assertThat(delivered()).hasSize(16).doesNotHaveDuplicates();
	}

	@ParameterizedTest
	@EnumSource
	void aSlowHandlerInALiveProcessIsNeverRunTwice(DeliveryMode mode) {
		slowHandlersAreNotRunTwice(mode, this.bus.instance(TIMEOUT), 1);
	}

	@Test
	void slowHandlersThatHoldTheWholePoolAreNotRunTwice() {
		this.bus.listens = true;
		try (HikariDataSource pool = new HikariDataSource()) {
			pool.setJdbcUrl(this.bus.testDatabase.jdbcUrl());
			pool.setUsername(this.bus.testDatabase.username());
			pool.setPassword(this.bus.testDatabase.password());
			pool.setMaximumPoolSize(2);
			slowHandlersAreNotRunTwice(DeliveryMode.EXACTLY_ONCE, this.bus.instance(TIMEOUT, pool), 2);
		}
	}

	private void slowHandlersAreNotRunTwice(DeliveryMode mode, TestBus.Instance slow, int concurrency) {
		CountDownLatch end = new CountDownLatch(1);
		slow.registry
			.register(endpoint("slow").delivery(mode).concurrency(concurrency).onEvent(Integer.class, (event) -> {
				this.handled.add("slow " + event.payload());
				awaitLatch(end);
			}));
		publish(slow, 0, 8);
		await().until(() -> this.handled.size() == concurrency);
		TestBus.Instance other = this.bus.instance(TIMEOUT);
		other.registry.register(endpoint("other").delivery(mode)
			.onEvent(Integer.class, (event) -> this.handled.add("other " + event.payload())));
		this.bus.jdbc.sql("select pg_sleep(?)").param(TIMEOUT.toSeconds() + 1.5).query().listOfRows();
		assertThat(this.handled).filteredOn((entry) -> entry.startsWith("slow")).hasSize(concurrency);
		end.countDown();
		await().untilAsserted(() -> assertThat(this.handled).hasSize(8));
		slow.registry.stop();
		other.registry.stop();
		assertThat(this.handled).extracting((entry) -> entry.substring(entry.indexOf(' ')))
			.hasSize(8)
			.doesNotHaveDuplicates();
	}

	@ParameterizedTest
	@EnumSource
	void twoInstancesShareAGroupAndOneTakesAllWhenTheOtherCloses(DeliveryMode mode) {
		CountDownLatch bothAreBusy = new CountDownLatch(2);
		Set<String> busy = ConcurrentHashMap.newKeySet();
		List<TestBus.Instance> instances = new ArrayList<>();
		for (String name : List.of("one", "two")) {
			TestBus.Instance instance = this.bus.instance();
			instances.add(instance);
			instance.registry.register(endpoint("l").delivery(mode).onEvent(Integer.class, (event) -> {
				if (busy.add(name)) {
					bothAreBusy.countDown();
				}
				awaitLatch(bothAreBusy);
				this.handled.add(name + " " + event.payload());
			}));
		}
		publish(instances.get(0), 0, 200);
		await().untilAsserted(() -> assertThat(this.handled).hasSize(200));
		instances.get(0).registry.stop();
		publish(instances.get(1), 200, 400);
		await().untilAsserted(() -> assertThat(this.handled).hasSize(400));
		instances.get(1).registry.stop();
		assertThat(this.handled).extracting((entry) -> Integer.valueOf(entry.substring(4)))
			.containsExactlyInAnyOrderElementsOf(IntStream.range(0, 400).boxed().toList());
		assertThat(this.handled.stream().skip(200)).allMatch((entry) -> entry.startsWith("two"));
	}

	/**
	 * A process that holds a cursor of each group, and of the group "once" is in the
	 * middle of a handler that has done something but is not committed.
	 */
	private InstanceProcess processInTheMiddleOfAnEvent() {
		InstanceProcess.assumeSignals();
		this.bus.jdbc.sql("create table delivered (grp text, n integer, pid bigint)").update();
		this.bus.jdbc.sql("create table blocked (pid bigint)").update();
		this.bus.jdbc.sql("""
				create function on_event(grp text, event_id bigint, key text, n integer, attempt integer, pid bigint)
				returns void language plpgsql as $$
				begin
					insert into delivered values (grp, n, pid);
					if grp = 'once' and exists (select from blocked b where b.pid = on_event.pid) then
						perform pg_sleep(600);
					end if;
				end $$""").update();
		InstanceProcess process = InstanceProcess.start(this.bus.testDatabase, TIMEOUT, 100, 1);
		this.processes.add(process);
		this.bus.jdbc.sql("insert into blocked values (?)").param(process.pid()).update();
		publish(this.bus.instance(), 0, 8);
		await().atMost(1, TimeUnit.MINUTES)
			.untilAsserted(() -> assertThat(this.bus.jdbc.sql(
					"select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'")
				.query(Long.class)
				.single()).isEqualTo(2));
		assertThat(delivered()).isEmpty();
		return process;
	}

	/** An instance in this process, of which only the group "once" counts. */
	private TestBus.Instance successor() {
		TestBus.Instance instance = this.bus.instance(TIMEOUT);
		instance.registry.register(PgListenerEndpoint.id(InstanceMain.ONCE)
			.streams(InstanceMain.STREAM)
			.onEvent(Integer.class, this::deliver));
		return instance;
	}

	private void deliver(Event<Integer> event) {
		JdbcClient.create(this.bus.dataSource)
			.sql("insert into delivered values ('once', ?, 0)")
			.param(event.payload())
			.update();
	}

	private void assertTakenOver(TestBus.Instance successor) {
		await().atMost(30, TimeUnit.SECONDS)
			.untilAsserted(() -> assertThat(delivered())
				.containsExactlyInAnyOrderElementsOf(IntStream.range(0, 8).boxed().toList()));
		assertThat(this.bus.jdbc.sql("select id from pgbus.consumer").query(Integer.class).list())
			.containsExactly(successor.consumer.id());
	}

	private List<Integer> delivered() {
		return this.bus.jdbc.sql("select n from delivered where grp = 'once'").query(Integer.class).list();
	}

	private static PgListenerEndpoint.Builder endpoint(String id) {
		return PgListenerEndpoint.id(id).group("g").streams(InstanceMain.STREAM);
	}

	private void publish(TestBus.Instance instance, int from, int to) {
		instance.publisher.publishAll(IntStream.range(from, to)
			.mapToObj((i) -> OutgoingEvent.to(InstanceMain.STREAM).key("k" + i).payload(i))
			.toList());
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
