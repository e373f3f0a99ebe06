package io.pgbus.listener;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.EventErrorHandler;
import io.pgbus.OutgoingEvent;
import io.pgbus.RetryPolicy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * What has gone wrong in buses like this one when handlers fail, each as a test. The
 * handlers write to the table <code>effect</code> in the transaction that is theirs.
 */
class FailureTrialsIntegrationTests {

	private final TestBus bus = new TestBus();

	private final Queue<String> attempts = new ConcurrentLinkedQueue<>();

	@BeforeEach
	void createEffects() {
		this.bus.jdbc.sql("create table effect (ordinal integer generated always as identity, key text, n integer)")
			.update();
	}

	@AfterEach
	void close() {
		this.bus.close();
	}

	@Test
	void aHealthyPartitionDoesNotResetAnothersAttemptCount() {
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l").streams("s").onEvent(Integer.class, (event) -> {
			this.attempts.add(event.payload() + "/" + event.attempt());
			if (event.payload() < 0) {
				// there is always a healthy one between two attempts
				this.bus.apart.executeWithoutResult(
						(status) -> instance.publisher.publish("s", "key-" + event.attempt(), event.attempt()));
				throw new IllegalStateException("never");
			}
			addEffect(event);
		}));
		instance.publisher.publish("s", "poison", -1);
		await().untilAsserted(() -> assertThat(effects()).hasSize(3));
		await().untilAsserted(() -> assertThat(this.bus.dead).hasSize(1));
		assertThat(this.attempts).filteredOn((attempt) -> attempt.startsWith("-1"))
			.containsExactly("-1/1", "-1/2", "-1/3");
	}

	@ParameterizedTest
	@EnumSource
	void aPoisonEventNeitherKillsTheLoopNorSpinsNorMakesThreads(DeliveryMode mode) {
		List<Throwable> poisons = List.of(new IllegalStateException(), new StackOverflowError("deep"),
				new OutOfMemoryError("too much"), new NoClassDefFoundError("Moved"), new Unspeakable(),
				new InterruptedException("no one asked"), new Exception("wraps", new Unspeakable()));
		TestBus.Instance instance = this.bus.instance();
		instance.registry
			.register(PgListenerEndpoint.id("poisoned").streams("s").delivery(mode).handler(Integer.class, (events) -> {
				int n = (int) events.get(0).payload();
				this.attempts.add(n + "/" + events.get(0).attempt());
				if (n < poisons.size()) {
					throwAny(poisons.get(n));
				}
				return null;
			}));
		instance.publisher.publish("s", "k", 100);
		await().untilAsserted(() -> assertThat(this.attempts).contains("100/1"));
		Set<String> threads = listenerThreads();
		for (int n = 0; n < poisons.size(); n++) {
			instance.publisher.publish("s", "k", n);
		}
		instance.publisher.publish("s", "k", 101);
		await().untilAsserted(() -> assertThat(this.attempts).contains("101/1"));
		await().untilAsserted(() -> assertThat(this.bus.dead).hasSize(poisons.size()));
		assertThat(this.attempts).hasSize(2 + 3 * poisons.size()).doesNotHaveDuplicates();
		assertThat(listenerThreads()).isEqualTo(threads);
	}

	@ParameterizedTest
	@EnumSource
	void anEventWhoseHeadersCannotBeReadIsDeadAtOnceAndBlocksNothing(DeliveryMode mode) {
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l")
			.streams("s")
			.delivery(mode)
			.onEvent(Integer.class, (event) -> addEffect(event)));
		instance.publisher.publish("s", "k", 1);
		// a number of more digits than the mapper reads, from a publisher in SQL
		this.bus.jdbc.sql("""
				insert into pgbus.event (stream_id, partition, size, type, key, payload, headers)
				select id, pgbus.partition_of('k', partitions), 1, 'Integer', 'k', '2',
					jsonb_build_object('n', repeat('1', 2000)::numeric)
				from pgbus.stream""").update();
		instance.publisher.publish("s", "k", 3);
		await().untilAsserted(() -> assertThat(effects()).containsExactly(1, 3));
		assertThat(this.bus.failedEvents()).singleElement()
			.satisfies((row) -> assertThat(row).containsEntry("state", "dead").containsEntry("attempts", 1));
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aDeadLetterListenerThatFailsEndsAndChangesNothing(boolean error) {
		AtomicInteger calls = new AtomicInteger();
		this.bus.deadLetterListener = (event, group, failure) -> {
			calls.incrementAndGet();
			throwUnchecked(error);
		};
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l").streams("s").onEvent(Integer.class, (event) -> {
			this.attempts.add(event.payload() + "/" + event.attempt());
			if (event.payload() == 1) {
				throw new IllegalStateException("never");
			}
			addEffect(event);
		}));
		publish(instance, "k", 0, 1, 2);
		await().untilAsserted(() -> assertThat(effects()).containsExactly(0, 2));
		await().untilAsserted(() -> assertThat(this.bus.dead).hasSize(1));
		assertThat(calls).hasValue(1);
		assertThat(this.attempts).containsExactlyInAnyOrder("0/1", "1/1", "1/2", "1/3", "2/1");
		assertThat(this.bus.failedEvents()).singleElement()
			.satisfies((row) -> assertThat(row).containsEntry("state", "dead").containsEntry("attempts", 3));
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void anErrorHandlerThatFailsEndsAndTheRetryPolicyHolds(boolean error) {
		AtomicInteger calls = new AtomicInteger();
		EventErrorHandler failing = (event, group, failure) -> {
			calls.incrementAndGet();
			throwUnchecked(error);
			return EventErrorHandler.Decision.DISCARD;
		};
		TestBus.Instance instance = this.bus.instance();
		instance.registry
			.register(PgListenerEndpoint.id("l").streams("s").errorHandler(failing).onEvent(Integer.class, (event) -> {
				if (event.payload() == 1) {
					throw new IllegalStateException("never");
				}
				addEffect(event);
			}));
		publish(instance, "k", 0, 1, 2);
		await().untilAsserted(() -> assertThat(effects()).containsExactly(0, 2));
		await().untilAsserted(() -> assertThat(this.bus.dead).hasSize(1));
		assertThat(calls).hasValue(3);
	}

	@Test
	void aSlowKeyBlocksNoOtherPartition() throws Exception {
		CyclicBarrier slow = new CyclicBarrier(2);
		TestBus.Instance instance = this.bus.instance();
		instance.registry
			.register(PgListenerEndpoint.id("l").streams("s").concurrency(2).onEvent(Integer.class, (event) -> {
				if (event.payload() < 0) {
					meet(slow);
				}
				addEffect(event);
			}));
		String elsewhere = this.bus.jdbc.sql("""
				select 'k' || n from generate_series(1, 100) n
				where pgbus.partition_of('k' || n, 8) <> pgbus.partition_of('slow', 8) limit 1""")
			.query(String.class)
			.single();
		instance.publisher.publish("s", "slow", -1);
		await().until(() -> slow.getNumberWaiting() == 1);
		publish(instance, elsewhere, IntStream.range(0, 300).toArray());
		await().untilAsserted(() -> assertThat(effects()).hasSize(300));
		meet(slow);
		await().untilAsserted(() -> assertThat(effects()).hasSize(301));
	}

	@Test
	void failingEventsInTheMiddleOfATransactionOfManyLeaveTheOthersHandledOnce() {
		this.bus.batches(100, 10);
		Map<Integer, Integer> failures = Map.of(3, 1, 17, 2, 18, 1, 44, 99, 45, 1, 90, 1);
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l").streams("s").onEvent(Integer.class, (event) -> {
			addEffect(event);
			if (event.attempt() <= failures.getOrDefault(event.payload(), 0)) {
				throw new IllegalStateException("after the effect of " + event.payload());
			}
		}));
		instance.publisher.publishAll(
				IntStream.range(0, 200).mapToObj((i) -> OutgoingEvent.to("s").key("k" + i % 10).payload(i)).toList());
		await().untilAsserted(() -> assertThat(this.bus.dead).extracting(Event::payload).containsExactly("44"));
		await().untilAsserted(() -> assertThat(effects()).hasSize(199));
		assertThat(effects()).doesNotHaveDuplicates().doesNotContain(44);
		assertKeyOrder();
	}

	@ParameterizedTest
	@ValueSource(strings = { "40001", "40P01" })
	void aConflictOfTransactionsIsRetriedAtOnceWithoutCounting(String state) {
		AtomicInteger calls = new AtomicInteger();
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l").streams("s").onEvent(Integer.class, (event) -> {
			this.attempts.add(event.payload() + "/" + event.attempt());
			addEffect(event);
			if (calls.incrementAndGet() <= 5) {
				client().sql("do $$ begin raise exception using errcode = '" + state + "'; end $$").update();
			}
		}));
		publish(instance, "k", 1, 2);
		await().untilAsserted(() -> assertThat(effects()).containsExactly(1, 2));
		assertThat(this.attempts).containsExactly("1/1", "1/1", "1/1", "1/1", "1/1", "1/1", "2/1");
		assertThat(this.bus.failedEvents()).isEmpty();
	}

	@Test
	void handlersThatDeadlockBothSucceedWithoutCounting() {
		this.bus.jdbc.sql("create table locked as select n from generate_series(0, 1) n").update();
		CyclicBarrier bothHaveOne = new CyclicBarrier(2);
		Set<Integer> seen = ConcurrentHashMap.newKeySet();
		TestBus.Instance instance = this.bus.instance();
		for (int n = 0; n < 2; n++) {
			int own = n;
			instance.registry.register(PgListenerEndpoint.id("l" + n)
				.types(Set.of("T" + n))
				.streams("s" + n)
				.onEvent(Integer.class, (event) -> {
					this.attempts.add(event.payload() + "/" + event.attempt());
					client().sql("select n from locked where n = " + own + " for update").query().listOfRows();
					if (seen.add(own)) {
						meet(bothHaveOne);
					}
					client().sql("select n from locked where n = " + (1 - own) + " for update").query().listOfRows();
					addEffect(event);
				}));
		}
		for (int n = 0; n < 2; n++) {
			instance.publisher.publish(OutgoingEvent.to("s" + n).type("T" + n).key("k").payload(n));
		}
		await().untilAsserted(() -> assertThat(effects()).containsExactlyInAnyOrder(0, 1));
		// who is rolled back may have its own row again before the other wakes
		assertThat(this.attempts).hasSizeGreaterThanOrEqualTo(3).containsOnly("0/1", "1/1");
		assertThat(this.bus.failedEvents()).isEmpty();
	}

	@Test
	void aFailureThatCannotBeRecordedNeitherSpinsNorLosesTheEventNorBlocksOthers() {
		this.bus.jdbc.sql("""
				create function refuse() returns trigger language plpgsql as
				$$ begin raise exception 'failed_event is unwritable'; end $$""").update();
		this.bus.jdbc.sql("""
				create trigger refuse before insert on pgbus.failed_event
				for each row execute function refuse()""").update();
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l").streams("s").onEvent(Integer.class, (event) -> {
			this.attempts.add(event.payload() + "/" + event.attempt());
			addEffect(event);
			if (event.payload() == 1 && event.attempt() < 3) {
				throw new IllegalStateException("after the effect");
			}
		}));
		publish(instance, "k", 1, 2);
		await().until(() -> this.attempts.size() >= 2);
		publish(instance, "another", 3, 4);
		await().untilAsserted(() -> assertThat(effects()).containsExactly(3, 4));
		this.bus.jdbc.sql("select pg_sleep(3)").query().listOfRows();
		assertThat(this.attempts).as("attempts within seconds").hasSizeLessThan(15);
		assertThat(effects()).containsExactly(3, 4);
		this.bus.jdbc.sql("drop trigger refuse on pgbus.failed_event").update();
		await().atMost(30, TimeUnit.SECONDS).untilAsserted(() -> assertThat(effects()).containsExactly(3, 4, 1, 2));
		assertThat(this.bus.failedEvents()).isEmpty();
	}

	@Test
	void aDeadEventThatHoldsItsKeyHoldsWhatFollowsUntilItIsRemoved() {
		RetryPolicy hold = new RetryPolicy(2, TestBus.FAST.backOff(), 1, TestBus.FAST.maxBackOff(), 0, Set.of(),
				RetryPolicy.OnDead.HOLD_KEY);
		TestBus.Instance instance = this.bus.instance();
		instance.registry
			.register(PgListenerEndpoint.id("l").streams("s").retry(hold).onEvent(Integer.class, (event) -> {
				if (event.payload() == 1) {
					throw new IllegalStateException("never");
				}
				addEffect(event);
			}));
		publish(instance, "k", 0, 1, 2, 3);
		publish(instance, "other", 10, 11);
		await().untilAsserted(() -> assertThat(effects()).containsExactlyInAnyOrder(0, 10, 11));
		await().untilAsserted(() -> assertThat(this.bus.failedEvents()).extracting((row) -> row.get("state"))
			.containsExactly("dead", "held", "held"));
		publish(instance, "k", 4);
		publish(instance, "other", 12);
		await().untilAsserted(() -> assertThat(this.bus.failedEvents()).hasSize(4));
		assertThat(effects()).doesNotContain(2, 3, 4);
		this.bus.jdbc.sql("delete from pgbus.failed_event where state = 'dead'").update();
		publish(instance, "k", 5);
		await().untilAsserted(() -> assertThat(effects()).hasSize(8));
		assertThat(
				this.bus.jdbc.sql("select n from effect where key = 'k' order by ordinal").query(Integer.class).list())
			.containsExactly(0, 2, 3, 4, 5);
		assertThat(this.bus.failedEvents()).isEmpty();
	}

	private void publish(TestBus.Instance instance, String key, int... numbers) {
		for (int n : numbers) {
			instance.publisher.publish("s", key, n);
		}
	}

	/** Statements in the transaction of the handler that calls this. */
	private JdbcClient client() {
		return JdbcClient.create(this.bus.dataSource);
	}

	private void addEffect(Event<Integer> event) {
		client().sql("insert into effect (key, n) values (?, ?)").param(event.key()).param(event.payload()).update();
	}

	private List<Integer> effects() {
		return this.bus.jdbc.sql("select n from effect order by ordinal").query(Integer.class).list();
	}

	private void assertKeyOrder() {
		assertThat(this.bus.jdbc
			.sql("select key || ': ' || n || ' after ' || before from (select key, n, lag(n) over "
					+ "(partition by key order by ordinal) as before from effect) e where n < before")
			.query(String.class)
			.list()).as("out of order").isEmpty();
	}

	private static Set<String> listenerThreads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.map(Thread::getName)
			.filter((name) -> name.startsWith("pgbus-"))
			.collect(Collectors.toSet());
	}

	private static void meet(CyclicBarrier barrier) {
		try {
			barrier.await(30, TimeUnit.SECONDS);
		}
		catch (InterruptedException | BrokenBarrierException | TimeoutException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static void throwUnchecked(boolean error) {
		if (error) {
			throw new NoClassDefFoundError("of the hook");
		}
		throw new IllegalStateException("of the hook");
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> void throwAny(Throwable throwable) throws T {
		throw (T) throwable;
	}

	/**
	 * An exception that cannot even be asked what it is about.
	 */
	private static final class Unspeakable extends RuntimeException {

		private static final long serialVersionUID = 1L;

		@Override
		public String getMessage() {
			throw new UnsupportedOperationException("getMessage");
		}

	}

}
