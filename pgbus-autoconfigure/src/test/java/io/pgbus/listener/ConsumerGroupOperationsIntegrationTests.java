package io.pgbus.listener;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.Event;
import io.pgbus.EventNotPendingException;
import io.pgbus.GroupInfo;
import io.pgbus.GroupInUseException;
import io.pgbus.OutgoingEvent;
import io.pgbus.PendingEvents;
import io.pgbus.PgBusException;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.core.EventConverter;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.GroupStore;
import io.pgbus.store.StreamStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.unit.DataSize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

/**
 * Every command, among pull consumers and beside listeners.
 */
class ConsumerGroupOperationsIntegrationTests {

	private final TestBus bus = new TestBus();

	private final TestBus.Instance instance = this.bus.instance();

	private final ConsumerGroupOperations operations = operations(Duration.ofMinutes(5));

	private final List<String> handled = new CopyOnWriteArrayList<>();

	@BeforeEach
	void createGroup() {
		this.operations.createGroup("g", List.of("s"), StartPosition.earliest());
		this.bus.jdbc.sql("create table done (id bigint generated always as identity, n text not null)").update();
	}

	@AfterEach
	void close() {
		this.bus.close();
	}

	private ConsumerGroupOperations operations(Duration pullTimeout) {
		BusDatabase database = new BusDatabase(this.bus.dataSource, "pgbus");
		return new DefaultConsumerGroupOperations(database,
				new GroupStore(database, new StreamStore(database, Map.of())),
				new EventConverter(JsonMapper.builder().build()), pullTimeout, DataSize.ofMegabytes(8));
	}

	@Test
	void aConsumerReadsWhatIsNewAndAcknowledgesIt() {
		publish("a", "1", "2", "3");
		List<Event<String>> events = this.operations.read("g", "c", 10);
		assertThat(events).extracting(Event::payload).containsExactly("\"1\"", "\"2\"", "\"3\"");
		assertThat(events).extracting(Event::key).containsOnly("a");
		assertThat(this.operations.read("g", "c", 10)).isEmpty();
		assertThat(this.operations.read("g", "other", 10)).isEmpty();
		acknowledge("c", events);
		assertThat(this.operations.pending("g")).isEmpty();
		assertThat(count("ledger")).isZero();
		publish("a", "4");
		assertThat(this.operations.read("g", "other", 10)).extracting(Event::payload).containsExactly("\"4\"");
	}

	@Test
	void laterEventsOfAPartitionAreGivenOnlyOnceTheEarlierOnesAreAcknowledged() {
		publish("a", "1", "2", "3", "4", "5");
		List<Event<String>> first = this.operations.read("g", "c1", 2);
		assertThat(first).extracting(Event::payload).containsExactly("\"1\"", "\"2\"");
		assertThat(this.operations.read("g", "c2", 10)).isEmpty();
		this.operations.acknowledge("g", "c1", first.get(1).id());
		assertThat(this.operations.read("g", "c2", 10)).isEmpty();
		assertThat(this.operations.read("g", "c1", 10)).isEmpty();
		this.operations.acknowledge("g", "c1", first.get(0).id());
		assertThat(this.operations.read("g", "c2", 10)).extracting(Event::payload)
			.containsExactly("\"3\"", "\"4\"", "\"5\"");
	}

	@Test
	void severalConsumersGetEveryEventOnceAndTheKeysInOrder() throws Exception {
		this.instance.publisher.publishAll(
				IntStream.range(0, 600).mapToObj((i) -> OutgoingEvent.to("s").key("k" + i % 10).payload(i)).toList());
		Map<String, List<Integer>> byKey = new HashMap<>();
		List<CompletableFuture<?>> consumers = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			String consumer = "c" + i;
			consumers.add(CompletableFuture.runAsync(() -> {
				int total;
				do {
					List<Event<String>> events = this.operations.read("g", consumer, 17);
					synchronized (byKey) {
						events.forEach((event) -> byKey.computeIfAbsent(event.key(), (key) -> new ArrayList<>())
							.add(Integer.parseInt(event.payload())));
						total = byKey.values().stream().mapToInt(List::size).sum();
					}
					acknowledge(consumer, events);
				}
				while (total < 600);
			}));
		}
		for (CompletableFuture<?> consumer : consumers) {
			consumer.get();
		}
		for (int key = 0; key < 10; key++) {
			int start = key;
			assertThat(byKey.get("k" + key))
				.containsExactlyElementsOf(IntStream.range(0, 60).mapToObj((i) -> start + 10 * i).toList());
		}
		assertThat(this.operations.pending("g")).isEmpty();
		assertThat(count("ledger")).isZero();
	}

	@Test
	void anAcknowledgementIsCommittedAndRolledBackWithTheCallersTransaction() {
		publish("a", "1", "2");
		List<Event<String>> events = this.operations.read("g", "c", 10);
		this.bus.transaction.executeWithoutResult((status) -> {
			note("rolled back");
			acknowledge("c", events);
			status.setRollbackOnly();
		});
		assertThat(pendingIds()).containsExactlyElementsOf(ids(events));
		this.bus.transaction.executeWithoutResult((status) -> {
			note("committed");
			acknowledge("c", events.subList(0, 1));
			assertThat(this.bus.jdbc.sql("show enable_seqscan").query(String.class).single()).isEqualTo("on");
		});
		assertThat(pendingIds()).containsExactly(events.get(1).id());
		assertThatExceptionOfType(EventNotPendingException.class)
			.isThrownBy(() -> this.bus.transaction.executeWithoutResult((status) -> {
				note("twice");
				acknowledge("c", events);
			}))
			.satisfies((ex) -> assertThat(ex.eventIds()).containsExactly(events.get(0).id()));
		assertThat(pendingIds()).containsExactly(events.get(1).id());
		assertThat(notes()).containsExactly("committed");
	}

	@Test
	void anAcknowledgementInATransactionThatCannotSeeATakeOverIsRefused() {
		publish("a", "1");
		List<Event<String>> events = this.operations.read("g", "c", 10);
		TransactionTemplate repeatableRead = new TransactionTemplate(this.bus.transactionManager);
		repeatableRead.setIsolationLevel(TransactionDefinition.ISOLATION_REPEATABLE_READ);
		assertThatExceptionOfType(PgBusException.class)
			.isThrownBy(() -> repeatableRead.executeWithoutResult((status) -> acknowledge("c", events)))
			.withMessageContaining("READ COMMITTED");
	}

	@Test
	void whatWasTakenOverCannotBeAcknowledgedByItsFormerHolder() {
		publish("a", "1", "2");
		List<Event<String>> events = this.operations.read("g", "stale", 10);
		this.operations.acknowledge("g", "stale", events.get(0).id());
		assertThat(this.operations.claim("g", "fresh", Duration.ofHours(1), 10)).isEmpty();
		List<Event<String>> taken = this.operations.claim("g", "fresh", Duration.ZERO, 10);
		assertThat(taken).extracting(Event::payload).containsExactly("\"2\"");
		assertThatExceptionOfType(EventNotPendingException.class)
			.isThrownBy(() -> acknowledge("stale", events.subList(1, 2)));
		acknowledge("fresh", taken);
		assertThat(this.operations.pending("g")).isEmpty();
	}

	@Test
	void ofATakeOverDuringAnAcknowledgementOneAloneHasItsEffects() {
		publish("a", "1", "2");
		List<Event<String>> events = this.operations.read("g", "stale", 10);
		CompletableFuture<?> other = this.bus.transaction.execute((status) -> {
			note("stale");
			acknowledge("stale", events.subList(0, 1));
			CompletableFuture<?> takesOver = CompletableFuture.runAsync(() -> {
				List<Event<String>> taken = this.operations.claim("g", "fresh", Duration.ZERO, 10);
				assertThat(taken).hasSize(2);
				this.bus.transaction.executeWithoutResult((inner) -> {
					note("fresh");
					acknowledge("fresh", taken);
				});
			});
			await().until(this::somebodyWaitsForALock);
			assertThat(takesOver).isNotDone();
			return takesOver;
		});
		assertThat(other).failsWithin(Duration.ofMinutes(1))
			.withThrowableThat()
			.withCauseInstanceOf(EventNotPendingException.class);
		assertThat(notes()).containsExactly("stale");
		assertThat(pendingIds()).containsExactly(events.get(1).id());
		this.operations.acknowledge("g", "fresh", events.get(1).id());
		assertThat(this.operations.pending("g")).isEmpty();
	}

	@Test
	void aConsumerGetsItsOwnPendingEventsAgainByClaim() {
		publish("a", "1", "2");
		assertThat(this.operations.read("g", "c", 10)).hasSize(2);
		List<Event<String>> again = this.operations.claim("g", "c", Duration.ZERO, 10);
		assertThat(again).extracting(Event::payload).containsExactly("\"1\"", "\"2\"");
		acknowledge("c", again);
		assertThat(this.operations.pending("g")).isEmpty();
	}

	@Test
	void pendingTellsWhoHoldsWhichEventsSinceWhen() {
		publish("a", "1", "2");
		List<Event<String>> events = this.operations.read("g", "c", 10);
		this.operations.acknowledge("g", "c", events.get(0).id());
		assertThat(this.operations.pending("g")).singleElement().satisfies((pending) -> {
			assertThat(pending.consumer()).isEqualTo("c");
			assertThat(pending.stream()).isEqualTo("s");
			assertThat(pending.partition()).isEqualTo(events.get(0).partition());
			assertThat(pending.eventIds()).containsExactly(events.get(1).id());
			assertThat(pending.since()).isAfterOrEqualTo(events.get(1).publishedAt());
		});
		acknowledge("c", events.subList(1, 2));
		CompletableFuture<Void> release = new CompletableFuture<>();
		this.instance.registry.register(
				PgListenerEndpoint.id("l").group("g").streams("s").onEvent(String.class, (event) -> release.join()));
		publish("a", "3");
		await().untilAsserted(() -> assertThat(this.operations.pending("g")).extracting(PendingEvents::consumer)
			.containsExactly("test"));
		release.complete(null);
		await().untilAsserted(() -> assertThat(this.operations.pending("g")).isEmpty());
		assertThat(this.operations.pending("unknown")).isEmpty();
	}

	@Test
	void whatASilentConsumerHoldsIsGivenToOthersAlsoWhereNobodyListens() {
		ConsumerGroupOperations impatient = operations(Duration.ofMillis(1));
		publish("a", "1");
		List<Event<String>> events = impatient.read("g", "silent", 10);
		assertThat(events).hasSize(1);
		List<Event<String>> given = new ArrayList<>();
		await().until(() -> given.addAll(this.operations.read("g", "patient", 10)));
		assertThat(given).extracting(Event::payload).containsExactly("\"1\"");
		assertThatExceptionOfType(EventNotPendingException.class).isThrownBy(() -> acknowledge("silent", events));
	}

	@Test
	void whatARemovedConsumerHeldIsGivenToOthers() {
		publish("a", "1");
		assertThat(this.operations.read("g", "c1", 10)).hasSize(1);
		this.operations.removeConsumer("g", "c1");
		this.operations.removeConsumer("g", "c1");
		assertThat(this.operations.read("g", "c2", 10)).hasSize(1);
	}

	@Test
	void transactionsThatAcknowledgeTheLastEventsTogetherDoNotKeepThePartition() {
		publish("a", "1", "2", "3");
		List<Event<String>> events = this.operations.read("g", "c", 2);
		this.bus.transaction.executeWithoutResult((status) -> {
			acknowledge("c", events.subList(0, 1));
			CompletableFuture.runAsync(() -> acknowledge("c", events.subList(1, 2))).join();
		});
		assertThat(this.operations.read("g", "c", 10)).extracting(Event::payload).containsExactly("\"3\"");
		assertThat(count("ledger")).isZero();
	}

	@Test
	void eventsBehindAFailedOneWithTheSameKeyAreLeftToListeners() {
		publish("a", "bad");
		RetryPolicy later = new RetryPolicy(2, Duration.ofHours(1), 1, Duration.ofHours(1), 0, Set.of(),
				RetryPolicy.OnDead.CONTINUE);
		PgListenerContainer listener = this.instance.registry
			.register(PgListenerEndpoint.id("l").group("g").streams("s").retry(later).onEvent(String.class, (event) -> {
				throw new IllegalStateException("bad");
			}));
		await().untilAsserted(() -> assertThat(count("failed_event")).isEqualTo(1));
		listener.stop();
		publish("a", "behind");
		publish("b", "other");
		List<Event<String>> events = this.operations.read("g", "c", 10);
		assertThat(events).extracting(Event::payload).containsExactly("\"other\"");
		acknowledge("c", events);
		assertThat(this.operations.pending("g")).isEmpty();
		assertThat(count("failed_event")).isEqualTo(2);
	}

	@Test
	void historyIsNewestFirstOverAllPartitions() {
		List<Long> ids = this.instance.publisher
			.publishAll(IntStream.range(0, 50).mapToObj((i) -> OutgoingEvent.to("s").key("k" + i).payload(i)).toList());
		publish("other", "elsewhere");
		this.bus.jdbc.sql("update pgbus.event set published_at = published_at - interval '1 hour' where id <= :id")
			.param("id", ids.get(19))
			.update();
		assertThat(this.operations.history("s", 0, ids.get(49), 50).stream().map(Event::partition).distinct().count())
			.isGreaterThan(1);
		assertThat(payloads(this.operations.history("s", ids.get(10), ids.get(30), 5))).containsExactly(30, 29, 28, 27,
				26);
		assertThat(payloads(this.operations.history("s", ids.get(10), ids.get(12), 1000))).containsExactly(12, 11, 10);
		Instant between = Instant.now().minusSeconds(1800);
		assertThat(payloads(this.operations.history("s", Instant.EPOCH, between, 3))).containsExactly(19, 18, 17);
		assertThat(this.operations.history("s", between, Instant.now().plusSeconds(60), 1000)).hasSize(31);
		assertThat(this.operations.history("unknown", 10)).isEmpty();
		assertThatIllegalArgumentException().isThrownBy(() -> this.operations.history("s", 0));
		assertThatIllegalArgumentException().isThrownBy(() -> this.operations.history("s", 1001));
	}

	@Test
	void streamsAndGroupsTellHowMuchThereIsAndHowFarTheGroupsAre() {
		this.instance.publisher.publishAll(
				IntStream.range(0, 9000).mapToObj((i) -> OutgoingEvent.to("s").key("k" + i).payload(i)).toList());
		this.operations.createGroup("late", List.of("s", "empty"), StartPosition.latest());
		assertThat(this.operations.streams()).satisfiesExactly((stream) -> {
			assertThat(stream.name()).isEqualTo("empty");
			assertThat(stream.lastId()).isNull();
			assertThat(stream.estimatedEvents()).isZero();
		}, (stream) -> {
			assertThat(stream.name()).isEqualTo("s");
			assertThat(stream.partitions()).isEqualTo(8);
			assertThat(stream.firstId()).isPositive();
			assertThat(stream.lastId()).isGreaterThan(stream.firstId());
			assertThat(stream.estimatedEvents()).isBetween(8000L, 10_000L);
		});
		List<Event<String>> events = this.operations.read("g", "c", 1000);
		GroupInfo group = group("g");
		assertThat(group.streams()).containsExactly("s");
		assertThat(group.cursors()).hasSize(8);
		assertThat(group.estimatedLag()).isBetween(8000L, 10_000L);
		assertThat(group.cursors()).filteredOn((cursor) -> "c".equals(cursor.consumer()))
			.singleElement()
			.satisfies((cursor) -> {
				assertThat(cursor.partition()).isEqualTo(events.get(0).partition());
				assertThat(cursor.since()).isNotNull();
			});
		assertThat(group("late").estimatedLag()).isZero();
		assertThat(group("late").streams()).containsExactly("empty", "s");
		assertThat(group("late").paused()).isFalse();
	}

	@Test
	void aPausedGroupIsGivenNothingUntilItIsResumed() {
		publish("a", "1");
		List<Event<String>> events = this.operations.read("g", "c", 10);
		publish("b", "2");
		this.operations.pauseGroup("g");
		assertThat(group("g").paused()).isTrue();
		assertThat(this.operations.read("g", "c", 10)).isEmpty();
		assertThat(this.operations.claim("g", "other", Duration.ZERO, 10)).isEmpty();
		acknowledge("c", events);
		this.operations.resumeGroup("g");
		assertThat(this.operations.read("g", "c", 10)).extracting(Event::payload).containsExactly("\"2\"");
	}

	@Test
	void aGroupMadeAheadKeepsItsPlaceForItsListener() {
		publish("a", "before");
		this.operations.createGroup("ahead", List.of("s"), StartPosition.latest());
		publish("a", "after");
		this.operations.createGroup("ahead", List.of("s"), StartPosition.latest());
		listen("ahead", StartPosition.earliest());
		await().untilAsserted(() -> assertThat(this.handled).containsExactly("after"));
	}

	@Test
	void aPullConsumerAndAListenerOfAGroupShareItsEvents() {
		publish("a", "1", "2");
		List<Event<String>> events = this.operations.read("g", "c", 1);
		listen("g", StartPosition.latest());
		publish("b", "other");
		await().untilAsserted(() -> assertThat(this.handled).containsExactly("other"));
		acknowledge("c", events);
		await().untilAsserted(() -> assertThat(this.handled).containsExactly("other", "2"));
	}

	@Test
	void aGroupIsMovedToEveryKindOfPlace() {
		publish("a", "1", "2", "3");
		publish("b", "4");
		List<Event<String>> all = this.operations.read("g", "c", 10);
		assertThat(all).hasSize(4);
		acknowledge("c", all);
		this.operations.removeConsumer("g", "c");
		this.bus.jdbc.sql("update pgbus.event set published_at = published_at - interval '1 hour' where key = 'a'")
			.update();
		assertThat(replay(StartPosition.earliest())).containsExactlyInAnyOrder("\"1\"", "\"2\"", "\"3\"", "\"4\"");
		assertThat(replay(StartPosition.latest())).isEmpty();
		assertThat(replay(StartPosition.at(Instant.now().minusSeconds(1800)))).containsExactly("\"4\"");
		long second = this.bus.jdbc.sql("select id from pgbus.event where payload = '\"2\"'")
			.query(Long.class)
			.single();
		assertThat(replay(StartPosition.at(second))).containsExactlyInAnyOrder("\"2\"", "\"3\"", "\"4\"");
	}

	@Test
	void aGroupInUseIsMovedOnlyByForceAndNothingPendingSurvives() {
		publish("a", "1", "2");
		List<Event<String>> events = this.operations.read("g", "c", 10);
		this.operations.acknowledge("g", "c", events.get(0).id());
		assertThatExceptionOfType(GroupInUseException.class)
			.isThrownBy(() -> this.operations.seek("g", StartPosition.earliest()))
			.satisfies((ex) -> assertThat(ex.consumers()).containsExactly("c"));
		this.operations.seek("g", StartPosition.earliest(), true);
		assertThat(this.operations.pending("g")).isEmpty();
		assertThatExceptionOfType(EventNotPendingException.class)
			.isThrownBy(() -> acknowledge("c", events.subList(1, 2)));
		assertThat(this.operations.read("g", "c", 10)).extracting(Event::payload).containsExactly("\"1\"", "\"2\"");
	}

	@Test
	void aMoveByForceRollsBackTheHandlerThatRunsAndTheListenerGoesOnFromThere() {
		CountDownLatch entered = new CountDownLatch(1);
		CompletableFuture<Void> moved = new CompletableFuture<>();
		this.instance.registry
			.register(PgListenerEndpoint.id("l").group("g").streams("s").onEvent(String.class, (event) -> {
				note(event.payload());
				if (event.payload().equals("2")) {
					entered.countDown();
					moved.join();
				}
			}));
		publish("a", "1", "2", "3");
		awaitLatch(entered);
		assertThat(notes()).containsExactly("1");
		this.operations.seek("g", StartPosition.earliest(), true);
		assertThat(notes()).containsExactly("1");
		moved.complete(null);
		await().untilAsserted(() -> assertThat(notes()).containsExactly("1", "1", "2", "3"));
		await().untilAsserted(() -> assertThat(this.operations.pending("g")).isEmpty());
		assertThat(count("failed_event")).isZero();
		assertThat(group("g").estimatedLag()).isZero();
		assertThat(notes()).containsExactly("1", "1", "2", "3");
	}

	@Test
	void aMoveByForceUnderLoadLosesNothingAndDoublesNothingBehindIt() {
		this.instance.registry.register(PgListenerEndpoint.id("l")
			.group("g")
			.streams("s")
			.concurrency(4)
			.onEvent(String.class, (event) -> note(event.payload())));
		CompletableFuture<?> publishing = CompletableFuture
			.runAsync(() -> IntStream.range(0, 400).forEach((i) -> publish("k" + i % 8, "n" + i)));
		while (!publishing.isDone()) {
			this.operations.seek("g", StartPosition.latest(), true);
		}
		publishing.join();
		this.operations.seek("g", StartPosition.earliest(), true);
		await().untilAsserted(() -> assertThat(group("g").estimatedLag()).isZero());
		await().untilAsserted(() -> assertThat(this.operations.pending("g")).isEmpty());
		// whatever handlers did before the last move, after it each event is handled once
		List<String> notes = notes();
		assertThat(notes.subList(notes.size() - 400, notes.size())).doesNotHaveDuplicates().hasSize(400);
	}

	@Test
	void aGroupWithAListenerIsDeletedOnlyByForceAndLeavesNothing() {
		listen("g", StartPosition.earliest());
		assertThatExceptionOfType(GroupInUseException.class).isThrownBy(() -> this.operations.deleteGroup("g"))
			.withMessageContaining("test");
		publish("a", "1");
		await().untilAsserted(() -> assertThat(this.handled).containsExactly("1"));
		this.operations.deleteGroup("g", true);
		publish("a", "2");
		assertThat(this.operations.groups()).isEmpty();
		for (String table : List.of("cursor", "cursor_state", "ledger", "failed_event", "member")) {
			assertThat(count(table)).as(table).isZero();
		}
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> this.operations.deleteGroup("g"))
			.withMessageContaining("There is no group");
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> this.operations.read("g", "c", 1))
			.withMessageContaining("createGroup");
	}

	@Test
	void aDeletionByForceUnderLoadLeavesNothing() {
		PgListenerContainer container = this.instance.registry.register(PgListenerEndpoint.id("l")
			.group("g")
			.streams("s")
			.concurrency(4)
			.onEvent(String.class, (event) -> this.handled.add(event.payload())));
		for (int round = 0; round < 10; round++) {
			container.start();
			int seen = this.handled.size();
			this.instance.publisher.publishAll(IntStream.range(0, 200)
				.mapToObj((i) -> OutgoingEvent.to("s").key("k" + i).payload("n" + i))
				.toList());
			await().until(() -> this.handled.size() > seen + 5);
			this.operations.deleteGroup("g", true);
			container.stop();
			for (String table : List.of("cursor", "cursor_state", "ledger", "failed_event", "consumer_group")) {
				assertThat(count(table)).as(table).isZero();
			}
		}
	}

	private void listen(String group, StartPosition start) {
		this.instance.registry.register(PgListenerEndpoint.id("listener of " + group)
			.group(group)
			.streams("s")
			.start(start)
			.onEvent(String.class, (event) -> this.handled.add(event.payload())));
	}

	private List<String> replay(StartPosition start) {
		this.operations.seek("g", start);
		List<Event<String>> events = this.operations.read("g", "c", 10);
		acknowledge("c", events);
		this.operations.removeConsumer("g", "c");
		return events.stream().map(Event::payload).toList();
	}

	private void publish(String key, String... payloads) {
		for (String payload : payloads) {
			this.instance.publisher.publish("s", key, payload);
		}
	}

	private void acknowledge(String consumer, List<Event<String>> events) {
		this.operations.acknowledge("g", consumer, ids(events));
	}

	private static List<Long> ids(List<Event<String>> events) {
		return events.stream().map(Event::id).toList();
	}

	private static List<Integer> payloads(List<Event<String>> events) {
		return events.stream().map((event) -> Integer.valueOf(event.payload())).toList();
	}

	private List<Long> pendingIds() {
		return this.operations.pending("g").stream().flatMap((pending) -> pending.eventIds().stream()).toList();
	}

	private GroupInfo group(String name) {
		return this.operations.groups().stream().filter((group) -> group.name().equals(name)).findFirst().orElseThrow();
	}

	private long count(String table) {
		return this.bus.jdbc.sql("select count(*) from pgbus." + table).query(Long.class).single();
	}

	/** An effect, in the transaction there is. */
	private void note(String note) {
		this.bus.jdbc.sql("insert into done (n) values (:note)").param("note", note).update();
	}

	private List<String> notes() {
		return this.bus.jdbc.sql("select n from done order by id").query(String.class).list();
	}

	private boolean somebodyWaitsForALock() {
		return this.bus.jdbc.sql(
				"select exists (select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database())")
			.query(Boolean.class)
			.single();
	}

	private static void awaitLatch(CountDownLatch latch) {
		await().until(() -> latch.getCount() == 0);
	}

}
