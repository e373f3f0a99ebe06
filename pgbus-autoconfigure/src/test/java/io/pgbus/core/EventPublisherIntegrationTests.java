package io.pgbus.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;

import io.pgbus.EventType;
import io.pgbus.OutgoingEvent;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.dao.DataIntegrityViolationException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * What is in the log once something is published.
 */
class EventPublisherIntegrationTests {

	private static TestPublisher bus;

	@BeforeAll
	static void createBus() {
		bus = new TestPublisher();
	}

	@AfterAll
	static void dropBus() {
		bus.close();
	}

	@Test
	void eventIsStoredAsItIs() {
		long id = bus.publisher.publish(OutgoingEvent.to("as it is")
			.key("k")
			.header("tenant", "x")
			.header("größe", "😀 \" \\")
			.payload(new OrderPlaced("42", 3)));
		Map<String, Object> row = bus.jdbc.sql("""
				select e.id, s.name, e.type, e.key, e.payload::text, e.headers ->> 'tenant' as tenant,
					e.headers ->> 'größe' as size, e.size as bytes, e.published_at <= clock_timestamp() as is_past
				from pgbus.event e join pgbus.stream s on s.id = e.stream_id where s.name = 'as it is'
				""").query().singleRow();
		assertThat(row).containsEntry("id", id)
			.containsEntry("type", "order.placed")
			.containsEntry("key", "k")
			.containsEntry("payload", "{\"id\": \"42\", \"quantity\": 3}")
			.containsEntry("tenant", "x")
			.containsEntry("size", "😀 \" \\")
			.containsEntry("bytes", "{\"id\":\"42\",\"quantity\":3}".length())
			.containsEntry("is_past", true);
	}

	@Test
	void idsComeInTheGivenOrderOverStatementsAndStreams() {
		List<OutgoingEvent> events = IntStream.range(0, 2500)
			.mapToObj((i) -> OutgoingEvent.to("mixed-" + i % 3).key((i % 7 == 0) ? null : "k" + i % 5).payload(i))
			.toList();
		List<Long> ids = bus.publisher.publishAll(events);
		assertThat(ids).hasSize(2500).isSorted().doesNotHaveDuplicates();
		List<Integer> payloads = bus.jdbc.sql("select payload::integer from pgbus.event where id = any(?) order by id")
			.param(ids.toArray(new Long[0]))
			.query(Integer.class)
			.list();
		assertThat(payloads).isEqualTo(IntStream.range(0, 2500).boxed().toList());
		assertThat(bus.count("mixed-0")).isEqualTo(834);
	}

	@Test
	void nothingToPublishIsPublishedAsThat() {
		assertThat(bus.publisher.publishAll(List.of())).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "42", "größe", "日本語", "😀", " with space ", "it's \"quoted\"", "a\\b", ":x ? $1" })
	void keyDecidesThePartitionAsItDoesInSql(String key) {
		long one = bus.publisher.publish("keyed", key, 1);
		List<Long> more = bus.publisher
			.publishAll(List.of(OutgoingEvent.to("keyed").key(key).payload(2), OutgoingEvent.to("keyed").payload(3)));
		List<Integer> partitions = bus.jdbc.sql(
				"select partition from pgbus.event where id in (?, ?) and key = ? and partition = pgbus.partition_of(?, 8)")
			.params(one, more.get(0), key, key)
			.query(Integer.class)
			.list();
		assertThat(partitions).hasSize(2);
	}

	@Test
	void partitionOfAKeyNeverChanges() {
		// stored events rely on it: a change would need a migration of every log there is
		assertThat(bus.jdbc.sql("select pgbus.partition_of(k, 8) from unnest(array['42', 'größe', '']) k")
			.query(Integer.class)
			.list()).containsExactly(2, 6, 3);
	}

	@Test
	void eventsWithoutAKeyAreSpreadOverAllPartitions() {
		List<OutgoingEvent> events = new ArrayList<>();
		for (int i = 0; i < 200; i++) {
			bus.publisher.publish("one by one", i);
			events.add(OutgoingEvent.to("at once").payload(i));
		}
		bus.publisher.publishAll(events);
		for (String stream : List.of("one by one", "at once")) {
			assertThat(bus.jdbc.sql("""
					select count(*) from pgbus.event e join pgbus.stream s on s.id = e.stream_id
					where s.name = ? group by e.partition
					""").param(stream).query(Integer.class).list()).as(stream).hasSize(8).allMatch((n) -> n >= 5);
		}
	}

	@Test
	void smallBatchesTakeTurnsThroughThePartitionsToo() {
		for (int i = 0; i < 100; i++) {
			bus.publisher.publishAll(List.of(OutgoingEvent.to("batches of one").payload(i)));
		}
		assertThat(bus.jdbc.sql("""
				select count(distinct e.partition) from pgbus.event e join pgbus.stream s on s.id = e.stream_id
				where s.name = 'batches of one'
				""").query(Integer.class).single()).isEqualTo(8);
	}

	@Test
	void payloadOfSixteenMebibytesIsTaken() {
		String payload = "x".repeat((int) DefaultEventPublisher.DEFAULT_MAX_PAYLOAD.toBytes() - 2);
		long id = bus.publisher.publish("large", payload);
		assertThat(bus.jdbc.sql("select size, length(payload #>> '{}') as length from pgbus.event where id = ?")
			.param(id)
			.query()
			.singleRow()).containsEntry("size", payload.length() + 2).containsEntry("length", payload.length());
	}

	@ParameterizedTest
	@ValueSource(strings = { "it's \"quoted\"", "größe/日本語/😀", ":x ? $1 {bus} \\", "order.events" })
	void streamMayHaveAnyName(String name) {
		bus.publisher.publish(name, 1);
		bus.publisher.publishAll(List.of(OutgoingEvent.to(name).payload(2)));
		assertThat(bus.count(name)).isEqualTo(2);
	}

	@Test
	void namesAndKeysMayBeAsLongAsTheirLimitsInCharacters() {
		String name = "😀".repeat(OutgoingEvent.MAX_NAME_LENGTH);
		for (String key : List.of("k".repeat(OutgoingEvent.MAX_KEY_LENGTH), "😀".repeat(500))) {
			bus.publisher.publish(OutgoingEvent.to(name).type(name).key(key).header(name, name).payload(1));
			// a failure of such an event must find room in the index of keys
			bus.jdbc.sql("""
					insert into pgbus.failed_event (cursor_id, event_id, key, type, state, holds_key)
					values (1, ?, ? || md5(random()::text), ?, 'held', true)
					""").params(key.codePointCount(0, key.length()), incompressible(key), name).update();
		}
		assertThat(bus.count(name)).isEqualTo(2);
	}

	@Test
	void keyThatIsTooLongForAnIndexIsRefusedToPublishersInSqlToo() {
		assertThatThrownBy(() -> bus.jdbc.sql("select pgbus.publish('sql', repeat('😀', 501), 'type', '1')")
			.query(Long.class)
			.single()).isInstanceOf(DataIntegrityViolationException.class);
	}

	/** As many bytes, which the server cannot make fewer. */
	private static String incompressible(String key) {
		Random random = new Random(1);
		StringBuilder text = new StringBuilder();
		key.codePoints()
			.forEach((c) -> text
				.appendCodePoint((c > 0xFFFF) ? 0x20000 + random.nextInt(0xA000) : 'a' + random.nextInt(26)));
		return text.toString();
	}

	@Test
	void wakeUpNamesEachStreamOnce() {
		bus.wakeUps.clear();
		bus.publisher.publishAll(List.of(OutgoingEvent.to("wake-a").payload(1), OutgoingEvent.to("wake-b").payload(2),
				OutgoingEvent.to("wake-a").payload(3)));
		assertThat(bus.wakeUps).hasSize(2).doesNotHaveDuplicates();
	}

	@EventType("order.placed")
	record OrderPlaced(String id, int quantity) {
	}

}
