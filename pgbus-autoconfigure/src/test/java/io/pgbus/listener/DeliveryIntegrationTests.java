package io.pgbus.listener;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import io.pgbus.BatchListenerFailedException;
import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.OutgoingEvent;
import io.pgbus.StartPosition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * What listeners are given, one by one, in lists, and when handlers fail.
 */
class DeliveryIntegrationTests {

	private final TestBus bus = new TestBus();

	private final TestBus.Instance instance = this.bus.instance();

	private final List<String> handled = new CopyOnWriteArrayList<>();

	@AfterEach
	void close() {
		this.bus.close();
	}

	@ParameterizedTest
	@EnumSource
	void eventsOfAKeyAreHandledInOrder(DeliveryMode mode) {
		this.instance.registry.register(PgListenerEndpoint.id("numbers")
			.streams("numbers")
			.delivery(mode)
			.concurrency(3)
			.onEvent(Integer.class, (event) -> this.handled.add(event.key() + ":" + event.payload())));
		this.instance.publisher.publishAll(IntStream.range(0, 500)
			.mapToObj((i) -> OutgoingEvent.to("numbers").key("k" + i % 5).payload(i))
			.toList());
		await().untilAsserted(() -> assertThat(this.handled).hasSize(500));
		for (int key = 0; key < 5; key++) {
			int start = key;
			assertThat(this.handled).filteredOn((entry) -> entry.startsWith("k" + start + ":"))
				.containsExactlyElementsOf(
						IntStream.range(0, 100).mapToObj((i) -> "k" + start + ":" + (start + 5 * i)).toList());
		}
	}

	@ParameterizedTest
	@EnumSource
	void aFailingEventIsRetriedWhileItsKeyWaitsAndOthersFlow(DeliveryMode mode) {
		AtomicInteger attempts = new AtomicInteger();
		this.instance.registry
			.register(PgListenerEndpoint.id("l").streams("s").delivery(mode).onEvent(String.class, (event) -> {
				if (event.payload().equals("a1")) {
					attempts.incrementAndGet();
					if (event.attempt() < 3) {
						throw new IllegalStateException("not yet");
					}
				}
				this.handled.add(event.payload());
			}));
		publish("a", "a1", "a2", "a3");
		publish("b", "b1", "b2");
		await().untilAsserted(() -> assertThat(this.handled).hasSize(5));
		assertThat(this.handled).containsSubsequence("a1", "a2", "a3").containsSubsequence("b1", "b2");
		assertThat(attempts).hasValue(3);
		// at least once: the last one is removed after the handler
		await().untilAsserted(() -> assertThat(failedEvents()).isEmpty());
		assertThat(this.bus.dead).isEmpty();
	}

	@ParameterizedTest
	@EnumSource
	void aRetryDoesNotWaitForAllThatWasReadIfHandlersAreSlow(DeliveryMode mode) {
		this.bus.jdbc.sql("insert into pgbus.stream (name, partitions) values ('one', 1)").update();
		this.bus.transaction.executeWithoutResult((status) -> {
			IntStream.range(0, 40).forEach((i) -> this.instance.publisher.publish("one", "k" + i, i));
		});
		this.instance.registry.register(PgListenerEndpoint.id("l")
			.streams("one")
			.delivery(mode)
			.start(StartPosition.earliest())
			.onEvent(Integer.class, (event) -> {
				if (event.payload() == 0 && event.attempt() == 1) {
					throw new IllegalStateException("not yet");
				}
				this.bus.jdbc.sql("select pg_sleep(0.1)::text").query().listOfRows();
				this.handled.add(event.payload().toString());
			}));
		await().untilAsserted(() -> assertThat(this.handled).hasSize(40));
		assertThat(this.handled).doesNotHaveDuplicates().containsSubsequence("0", "39");
	}

	@ParameterizedTest
	@EnumSource
	void anEventWithoutAttemptsLeftIsDeadAndItsKeyGoesOn(DeliveryMode mode) {
		this.instance.registry
			.register(PgListenerEndpoint.id("l").streams("s").delivery(mode).onEvent(String.class, (event) -> {
				if (event.payload().startsWith("bad")) {
					throw new IllegalStateException("never " + event.payload());
				}
				this.handled.add(event.payload());
			}));
		publish("a", "bad1", "a2", "bad2", "a3");
		await().untilAsserted(() -> assertThat(this.handled).containsExactly("a2", "a3"));
		await().untilAsserted(
				() -> assertThat(this.bus.dead).extracting(Event::payload).containsExactly("\"bad1\"", "\"bad2\""));
		assertThat(failedEvents()).hasSize(2)
			.allSatisfy((row) -> assertThat(row).containsEntry("state", "dead")
				.containsEntry("attempts", 3)
				.containsEntry("error_type", "java.lang.IllegalStateException"));
	}

	@ParameterizedTest
	@EnumSource
	void anUnreadableEventIsDeadAtOnceAndBlocksNothing(DeliveryMode mode) {
		this.instance.registry.register(PgListenerEndpoint.id("l")
			.streams("s")
			.delivery(mode)
			.onEvent(Integer.class, (event) -> this.handled.add(event.payload().toString())));
		publish("a", "text");
		this.instance.publisher.publish("s", "a", 1);
		await().untilAsserted(() -> assertThat(this.handled).containsExactly("1"));
		assertThat(failedEvents()).singleElement()
			.satisfies((row) -> assertThat(row).containsEntry("state", "dead").containsEntry("attempts", 1));
	}

	@ParameterizedTest
	@EnumSource
	void aFailingListIsSearchedForTheEventsThatFail(DeliveryMode mode) {
		this.instance.registry
			.register(PgListenerEndpoint.id("l").streams("s").delivery(mode).onEvents(Integer.class, (events) -> {
				if (events.stream().anyMatch((event) -> event.payload().equals(7) || event.payload().equals(20))) {
					throw new IllegalStateException("bad");
				}
				events.forEach((event) -> this.handled.add(event.payload().toString()));
			}));
		this.instance.publisher
			.publishAll(IntStream.range(0, 40).mapToObj((i) -> OutgoingEvent.to("s").key("k" + i).payload(i)).toList());
		await().untilAsserted(() -> assertThat(this.handled).hasSize(38));
		await().untilAsserted(
				() -> assertThat(this.bus.dead).extracting(Event::payload).containsExactlyInAnyOrder("7", "20"));
		assertThat(this.handled).doesNotHaveDuplicates();
	}

	@Test
	void aListListenerThatNamesTheFailedEventIsNotSearched() {
		AtomicInteger failures = new AtomicInteger();
		this.instance.registry.register(PgListenerEndpoint.id("l").streams("s").onEvents(Integer.class, (events) -> {
			for (int i = 0; i < events.size(); i++) {
				if (events.get(i).payload().equals(7) && events.get(i).attempt() == 1) {
					failures.incrementAndGet();
					throw new BatchListenerFailedException("bad", new IllegalStateException(), i);
				}
			}
			events.forEach((event) -> this.handled.add(event.payload().toString()));
		}));
		this.bus.transaction.executeWithoutResult(
				(status) -> IntStream.range(0, 40).forEach((i) -> this.instance.publisher.publish("s", "k", i)));
		await().untilAsserted(() -> assertThat(this.handled).hasSize(40).doesNotHaveDuplicates());
		assertThat(failures).hasValue(1);
		assertThat(this.handled).containsExactlyElementsOf(IntStream.range(0, 40).mapToObj(Integer::toString).toList());
	}

	@Test
	void whatAHandlerDidIsRolledBackWhenItFailsOrItsCommitDoes() {
		this.bus.jdbc
			.sql("create table effect (n integer primary key, fk integer references effect (n) "
					+ "deferrable initially deferred)")
			.update();
		this.instance.registry.register(PgListenerEndpoint.id("l").streams("s").onEvent(Integer.class, (event) -> {
			this.bus.jdbcIn(event.payload());
			if (event.payload() == 1) {
				throw new IllegalStateException("after the effect");
			}
		}));
		this.instance.publisher.publish("s", 1);
		this.instance.publisher.publish("s", 2);
		// its foreign key is missing, which is found out at commit
		this.instance.publisher.publish("s", 303);
		await().untilAsserted(() -> assertThat(this.bus.dead).hasSize(2));
		await().untilAsserted(() -> assertThat(this.bus.jdbc.sql("select n from effect").query(Integer.class).list())
			.containsExactly(2));
	}

	@Test
	void aGroupMadeLaterStartsWhereItIsTold() {
		List<Long> ids = this.instance.publisher
			.publishAll(IntStream.range(0, 10).mapToObj((i) -> OutgoingEvent.to("s").payload(i)).toList());
		this.bus.jdbc.sql("update pgbus.event set published_at = published_at - interval '1 hour' where id <= :id")
			.param("id", ids.get(4))
			.update();
		listen("earliest", StartPosition.earliest());
		listen("id", StartPosition.at(ids.get(3)));
		listen("instant", StartPosition.at(java.time.Instant.now().minusSeconds(1800)));
		listen("latest", StartPosition.latest());
		this.instance.publisher.publish("s", 10);
		await().untilAsserted(() -> assertThat(this.handled).hasSize(11 + 8 + 6 + 1));
		assertThat(this.handled).filteredOn((entry) -> entry.startsWith("latest")).containsExactly("latest 10");
		assertThat(this.handled).filteredOn((entry) -> entry.startsWith("instant"))
			.containsExactlyInAnyOrder("instant 5", "instant 6", "instant 7", "instant 8", "instant 9", "instant 10");
	}

	@Test
	void aListenerLeavesTypesItHasNoHandlerForToOthersOfItsGroupAndPassesOverTheRest() {
		this.instance.registry.register(PgListenerEndpoint.id("a")
			.group("g")
			.streams("s")
			.types(java.util.Set.of("A"))
			.onEvent(String.class, (event) -> this.handled.add("a " + event.payload())));
		TestBus.Instance other = this.bus.instance();
		other.registry.register(PgListenerEndpoint.id("b")
			.group("g")
			.streams("s")
			.types(java.util.Set.of("B"))
			.onEvent(String.class, (event) -> this.handled.add("b " + event.payload())));
		for (int i = 0; i < 10; i++) {
			for (String type : List.of("A", "B", "C")) {
				this.instance.publisher.publish(OutgoingEvent.to("s").key("k").type(type).payload("" + i));
			}
		}
		await().untilAsserted(() -> assertThat(this.handled).hasSize(20));
		assertThat(this.handled).containsExactlyElementsOf(
				IntStream.range(0, 20).mapToObj((i) -> "ab".charAt(i % 2) + " " + i / 2).toList());
	}

	@Test
	void aFilterInSqlPassesOverWhatItDoesNotWant() {
		this.instance.registry.register(PgListenerEndpoint.id("l")
			.streams("s")
			.filter("payload ? 'total' and (payload->>'total')::int > 5 -- big ones")
			.onEvent(Object.class, (event) -> this.handled.add(event.payload().toString())));
		this.instance.publisher.publish("s", Map.of("total", 3));
		this.instance.publisher.publish("s", Map.of("other", 9));
		this.instance.publisher.publish("s", Map.of("total", 7));
		await().untilAsserted(() -> assertThat(this.handled).containsExactly("{total=7}"));
	}

	@Test
	void anEventOnWhichTheFilterFailsIsDeadAndBlocksNothing() {
		this.instance.registry.register(PgListenerEndpoint.id("l")
			.streams("s")
			.filter("(payload->>'total')::int > 5")
			.onEvent(Object.class, (event) -> this.handled.add(event.payload().toString())));
		this.instance.publisher.publish("s", "k", Map.of("total", 7));
		this.instance.publisher.publish("s", "k", Map.of("total", "many"));
		this.instance.publisher.publish("s", "k", Map.of("total", 3));
		this.instance.publisher.publish("s", "k", Map.of("total", 8));
		await().untilAsserted(() -> assertThat(this.handled).containsExactly("{total=7}", "{total=8}"));
		await().untilAsserted(() -> assertThat(this.bus.dead).singleElement()
			.satisfies((event) -> assertThat(event.payload()).contains("many")));
	}

	private void listen(String group, StartPosition start) {
		this.instance.registry.register(PgListenerEndpoint.id(group)
			.streams("s")
			.start(start)
			.onEvent(Integer.class, (event) -> this.handled.add(group + " " + event.payload())));
	}

	private void publish(String key, String... payloads) {
		for (String payload : payloads) {
			this.instance.publisher.publish("s", key, payload);
		}
	}

	private List<Map<String, Object>> failedEvents() {
		return this.bus.jdbc.sql("select * from pgbus.failed_event").query().listOfRows();
	}

}
