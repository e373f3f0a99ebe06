package io.pgbus.listener;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.OutgoingEvent;
import io.pgbus.RetryPolicy;
import io.pgbus.RetryPolicy.OnDead;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.FailureChanges;
import io.pgbus.store.FailureChanges.Result;
import io.pgbus.store.FailureFilter;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Retrying and discarding failed events while listeners work.
 */
class FailureChangesIntegrationTests {

	private static final FailureFilter ALL = new FailureFilter(null, null, null, null);

	private static final FailureFilter DEAD = new FailureFilter(null, "dead", null, null);

	private final TestBus bus = new TestBus();

	private final FailureChanges changes = new FailureChanges(new BusDatabase(this.bus.dataSource, "pgbus"));

	private final Queue<Integer> handled = new ConcurrentLinkedQueue<>();

	/** What the handler fails on. */
	private final Set<Integer> broken = ConcurrentHashMap.newKeySet();

	@AfterEach
	void close() {
		this.bus.close();
	}

	@ParameterizedTest
	@EnumSource
	void aRetriedDeadEventGetsAllAttemptsAnewAndIsHandled(DeliveryMode mode) {
		TestBus.Instance instance = listen(mode, once(OnDead.CONTINUE));
		this.broken.add(1);
		instance.publisher.publish("s", "k", 1);
		awaitFailures("dead/1");
		assertThat(this.changes.retry("g", DEAD, 10)).isEqualTo(new Result(1, 0, false));
		Awaitility.await().untilAsserted(() -> assertThat(states()).containsExactly("dead/1"));
		this.broken.clear();
		this.changes.retry("g", new FailureFilter(eventIds().get(0), null, null, null), 10);
		awaitFailures();
		assertThat(this.handled).containsExactly(1);
	}

	@Test
	void aDeadEventThatHoldsItsKeyIsHandledBeforeThoseBehindItOnceItIsRetried() {
		TestBus.Instance instance = listen(DeliveryMode.EXACTLY_ONCE, once(OnDead.HOLD_KEY));
		this.broken.add(1);
		IntStream.rangeClosed(1, 4).forEach((n) -> instance.publisher.publish("s", "k", n));
		awaitFailures("dead/1", "held/0", "held/0", "held/0");
		this.broken.clear();
		assertThat(this.changes.retry("g", ALL, 10).changed()).isOne();
		awaitFailures();
		assertThat(this.handled).containsExactly(1, 2, 3, 4);
	}

	@Test
	void theNextHeldEventHasItsTurnWhenTheFirstIsDiscarded() {
		TestBus.Instance instance = listen(DeliveryMode.EXACTLY_ONCE, once(OnDead.HOLD_KEY));
		this.broken.add(1);
		IntStream.rangeClosed(1, 4).forEach((n) -> instance.publisher.publish("s", "k", n));
		awaitFailures("dead/1", "held/0", "held/0", "held/0");
		// one from the middle goes without giving anyone a turn
		this.changes.discard("g", new FailureFilter(eventIds().get(2), null, null, null), 10);
		assertThat(states()).containsExactly("dead/1", "held/0", "held/0");
		assertThat(this.changes.discard("g", DEAD, 10)).isEqualTo(new Result(1, 0, false));
		awaitFailures();
		assertThat(this.handled).containsExactly(2, 4);
	}

	@Test
	void aRetriedDeadEventComesBeforeTheLaterOnesOfItsKeyThatHaveFailedMeanwhile() {
		TestBus.Instance instance = listen(DeliveryMode.EXACTLY_ONCE, once(OnDead.CONTINUE));
		this.broken.addAll(Set.of(1, 2, 3));
		IntStream.rangeClosed(1, 3).forEach((n) -> instance.publisher.publish("s", "k", n));
		awaitFailures("dead/1", "dead/1", "dead/1");
		instance.registry.stop();
		this.changes.retry("g", new FailureFilter(eventIds().get(1), null, null, null), 10);
		this.changes.retry("g", new FailureFilter(eventIds().get(2), null, null, null), 10);
		assertThat(states()).containsExactly("dead/1", "retrying/0", "held/0");
		this.changes.retry("g", DEAD, 10);
		assertThat(states()).containsExactly("retrying/0", "held/0", "held/0");
		assertInvariant();
		this.broken.clear();
		listen(DeliveryMode.EXACTLY_ONCE, once(OnDead.CONTINUE));
		awaitFailures();
		assertThat(this.handled).containsExactly(1, 2, 3);
	}

	@Test
	void anEventThatIsHandledInATransactionIsLeftAlone() {
		CountDownLatch inHandler = new CountDownLatch(2);
		CountDownLatch goOn = new CountDownLatch(1);
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(
				PgListenerEndpoint.id("l").group("g").streams("s").retry(twice()).onEvent(Integer.class, (event) -> {
					inHandler.countDown();
					if (event.attempt() == 1) {
						throw new IllegalStateException("first");
					}
					await(goOn);
					this.handled.add(event.payload());
				}));
		instance.publisher.publish("s", "k", 1);
		await(inHandler);
		assertThat(this.changes.discard("g", ALL, 10)).isEqualTo(new Result(0, 1, false));
		goOn.countDown();
		awaitFailures();
		assertThat(this.handled).containsExactly(1);
	}

	@Test
	void whatAHandlerWithoutATransactionRecordsOfADiscardedEventIsNotRecorded() {
		CountDownLatch inHandler = new CountDownLatch(2);
		CountDownLatch goOn = new CountDownLatch(1);
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l")
			.group("g")
			.streams("s")
			.retry(twice())
			.delivery(DeliveryMode.AT_LEAST_ONCE)
			.onEvent(Integer.class, (event) -> {
				if (event.payload() == 1) {
					inHandler.countDown();
					if (event.attempt() == 2) {
						await(goOn);
					}
					throw new IllegalStateException("always");
				}
				this.handled.add(event.payload());
			}));
		instance.publisher.publish("s", "k", 1);
		await(inHandler);
		assertThat(this.changes.discard("g", ALL, 10)).isEqualTo(new Result(1, 0, false));
		goOn.countDown();
		instance.publisher.publish("s", "k", 2);
		Awaitility.await().untilAsserted(() -> assertThat(this.handled).containsExactly(2));
		assertThat(states()).isEmpty();
	}

	@Test
	void aDiscardedEventAboveThePositionDoesNotComeAgain() {
		CountDownLatch goOn = new CountDownLatch(1);
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l")
			.group("g")
			.streams("s")
			.retry(once(OnDead.CONTINUE))
			.onEvent(Integer.class, (event) -> {
				this.handled.add(event.payload());
				if (event.payload() == 1) {
					throw new IllegalStateException("dead");
				}
				if (this.handled.size() == 2) {
					await(goOn);
					// the position is not saved, and the batch is read again
					JdbcClient.create(this.bus.dataSource)
						.sql("select pg_terminate_backend(pg_backend_pid())")
						.query()
						.listOfRows();
				}
			}));
		this.bus.transaction.executeWithoutResult((status) -> instance.publisher
			.publishAll(List.of(OutgoingEvent.to("s").key("k").payload(1), OutgoingEvent.to("s").key("k").payload(2))));
		awaitFailures("dead/1");
		assertThat(this.changes.discard("g", ALL, 10).changed()).isOne();
		goOn.countDown();
		Awaitility.await().untilAsserted(() -> assertThat(this.handled).containsExactly(1, 2, 2));
	}

	@Test
	void manyAreChangedPartByPart() {
		TestBus.Instance instance = listen(DeliveryMode.EXACTLY_ONCE, once(OnDead.CONTINUE));
		IntStream.range(0, 25).forEach((n) -> {
			this.broken.add(n);
			instance.publisher.publish("s", "k" + n, n);
		});
		Awaitility.await().untilAsserted(() -> assertThat(states()).hasSize(25).containsOnly("dead/1"));
		instance.registry.stop();
		assertThat(this.changes.retry("g", ALL, 10)).isEqualTo(new Result(10, 0, true));
		assertThat(this.changes.retry("g", ALL, 10)).isEqualTo(new Result(10, 0, true));
		assertThat(this.changes.retry("g", ALL, 10)).isEqualTo(new Result(5, 0, false));
		assertThat(this.changes.discard("g", new FailureFilter(null, null, "k3", "Integer"), 10))
			.isEqualTo(new Result(1, 0, false));
		assertThat(this.changes.discard("g", new FailureFilter(null, "held", null, null), 10))
			.isEqualTo(new Result(0, 0, false));
		assertThat(this.changes.discard("other", ALL, 10)).isEqualTo(new Result(0, 0, false));
		assertThat(states()).hasSize(24).containsOnly("retrying/0");
	}

	@ParameterizedTest
	@EnumSource
	void whateverIsRetriedAndDiscardedWhileListenersFailNothingIsStuckInTheEnd(DeliveryMode mode) {
		Random random = new Random(4711);
		this.bus.batches(20, 1);
		Set<Integer> discardable = ConcurrentHashMap.newKeySet();
		for (OnDead onDead : OnDead.values()) {
			String group = "g-" + onDead;
			this.bus.instance().registry.register(PgListenerEndpoint.id("l-" + onDead)
				.group(group)
				.streams("s")
				.concurrency(3)
				.delivery(mode)
				.retry(new RetryPolicy(2, Duration.ofMillis(1), 1, Duration.ofMillis(1), 0, Set.of(), onDead))
				.onEvent(Integer.class, (event) -> {
					if (this.broken.contains(event.payload()) || event.payload() % 7 == 0 && event.attempt() == 1) {
						throw new IllegalStateException("broken");
					}
					this.handled.add(event.payload());
				}));
		}
		TestBus.Instance publisher = this.bus.instance();
		for (int n = 0; n < 600; n++) {
			if (random.nextInt(3) == 0) {
				this.broken.add(n);
			}
			publisher.publisher.publish("s", "k" + random.nextInt(4), n);
			String group = "g-" + OnDead.values()[random.nextInt(2)];
			String state = List.of("dead", "retrying", "held").get(random.nextInt(3));
			FailureFilter filter = new FailureFilter(null, state, random.nextBoolean() ? "k1" : null, null);
			if (random.nextBoolean()) {
				this.changes.retry(group, filter, 3);
			}
			else if (random.nextInt(10) == 0) {
				discardable.add(n);
				this.changes.discard(group, filter, 1);
			}
		}
		this.broken.clear();
		Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
			for (OnDead onDead : OnDead.values()) {
				this.changes.retry("g-" + onDead, DEAD, 1000);
			}
			assertThat(states()).isEmpty();
		});
		assertThat(this.handled.size()).isGreaterThanOrEqualTo(2 * (600 - discardable.size()));
		assertThat(new HashSet<>(this.handled).size()).isGreaterThanOrEqualTo(600 - discardable.size());
		if (mode == DeliveryMode.EXACTLY_ONCE) {
			assertThat(this.handled.size()).isLessThanOrEqualTo(1200);
		}
	}

	@ParameterizedTest
	@EnumSource
	void aHandlerThatLeavesItsThreadInterruptedDoesNotEndTheWorker(DeliveryMode mode) {
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(
				PgListenerEndpoint.id("l").group("g").streams("s").delivery(mode).onEvent(Integer.class, (event) -> {
					this.handled.add(event.payload());
					Thread.currentThread().interrupt();
				}));
		for (int n = 0; n < 5; n++) {
			instance.publisher.publish("s", "k", n);
			int expected = n + 1;
			Awaitility.await().untilAsserted(() -> assertThat(this.handled).hasSize(expected));
		}
	}

	private TestBus.Instance listen(DeliveryMode mode, RetryPolicy retry) {
		TestBus.Instance instance = this.bus.instance();
		instance.registry.register(PgListenerEndpoint.id("l")
			.group("g")
			.streams("s")
			.delivery(mode)
			.retry(retry)
			.onEvent(Integer.class, this::handle));
		return instance;
	}

	private void handle(Event<Integer> event) {
		if (this.broken.contains(event.payload())) {
			throw new IllegalStateException("broken");
		}
		this.handled.add(event.payload());
	}

	private static RetryPolicy once(OnDead onDead) {
		return new RetryPolicy(1, TestBus.FAST.backOff(), 1, TestBus.FAST.maxBackOff(), 0, Set.of(), onDead);
	}

	private static RetryPolicy twice() {
		return new RetryPolicy(2, TestBus.FAST.backOff(), 1, TestBus.FAST.maxBackOff(), 0, Set.of(), OnDead.CONTINUE);
	}

	private static void await(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private void awaitFailures(String... states) {
		Awaitility.await().untilAsserted(() -> assertThat(states()).containsExactly(states));
	}

	private List<String> states() {
		return this.bus.failedEvents().stream().map((row) -> row.get("state") + "/" + row.get("attempts")).toList();
	}

	private List<Long> eventIds() {
		return this.bus.failedEvents().stream().map((row) -> (Long) row.get("event_id")).toList();
	}

	/** Of the events of one key the first is never held, the others always are. */
	private void assertInvariant() {
		List<Map<String, Object>> wrong = this.bus.jdbc.sql("""
				select * from (
					select f.*, row_number() over (partition by cursor_id, key order by ordinal) as n
					from pgbus.failed_event f where holds_key
				) f where (n = 1) = (state = 'held')""").query().listOfRows();
		assertThat(wrong).isEmpty();
	}

}
