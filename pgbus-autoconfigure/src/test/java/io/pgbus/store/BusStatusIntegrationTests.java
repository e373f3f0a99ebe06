package io.pgbus.store;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

/**
 * What operators look at, on a log with many events, 20 groups that are far behind and
 * 10,000 failures. The system property {@code pgbus.test.bulk-events} says how many
 * events.
 */
class BusStatusIntegrationTests {

	private static final long EVENTS = Long.getLong("pgbus.test.bulk-events", 200_000);

	/** What a scan may read of the log at a time, with a little to spare. */
	private static final double MAX_ROWS = 210;

	private static final TestDatabase testDatabase = TestDatabase.create();

	private static final BusDatabase database = new BusDatabase(testDatabase.dataSource(), "pgbus");

	private static final JdbcClient jdbc = testDatabase.jdbc();

	@BeforeAll
	static void fill() {
		new SchemaInitializer(database).migrate();
		jdbc.sql("insert into pgbus.stream (name) select 'stream-' || n from generate_series(1, 4) n").update();
		jdbc.sql("""
				insert into pgbus.event (stream_id, partition, size, type, key, payload, published_at)
				select s.id, n / 4 % 8, 20, 't' || n % 3, 'k' || n % 1000, jsonb_build_object('n', n),
					clock_timestamp() - (:events - n) * interval '10 ms'
				from generate_series(1, :events) n
				join pgbus.stream s on s.name = 'stream-' || 1 + n % 4
				order by n""").param("events", EVENTS).update();
		jdbc.sql("insert into pgbus.consumer_group (name) select 'group-' || n from generate_series(1, 20) n").update();
		jdbc.sql("""
				insert into pgbus.cursor (group_id, stream_id, partition)
				select g.id, s.id, p from pgbus.consumer_group g, pgbus.stream s, generate_series(0, 7) p""").update();
		jdbc.sql("""
				insert into pgbus.cursor_state (cursor_id, version, low_snapshot, low_floor, low_bound,
					high_snapshot, high_floor, high_bound, ceiling, position)
				select c.id, 1, '3:3:', c.done, '3', '3:3:', c.done, '3', 0, 0
				from (select id, (group_id - 1) * :events / 20 as done from pgbus.cursor) c""")
			.param("events", EVENTS)
			.update();
		jdbc.sql(
				"""
						insert into pgbus.failed_event (cursor_id, event_id, key, type, state, holds_key, attempts, next_attempt_at)
						select c.id, e.id, e.key, e.type, (array['dead', 'retrying', 'held'])[1 + e.id % 3], e.id % 3 > 0, 1,
							clock_timestamp() + interval '1 hour'
						from pgbus.cursor c
						join pgbus.event e on e.stream_id = c.stream_id and e.partition = c.partition and e.id <= 10000
						where c.group_id = (select id from pgbus.consumer_group where name = 'group-3')""")
			.update();
	}

	@AfterAll
	static void close() {
		testDatabase.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "stream_status", "group_status", "in_flight", "failure" })
	void aViewReadsNoMoreThanTheEndsOfTheLogUnderTheSettingsOfASession(String view) throws SQLException {
		try (Connection connection = testDatabase.connect(); Statement statement = connection.createStatement()) {
			for (String analyze : List.of("", "analyze pgbus.event")) {
				statement.execute(analyze);
				try (var row = statement.executeQuery("explain (analyze, format json) select * from pgbus." + view)) {
					row.next();
					assertReadsOnlyEnds(row.getString(1));
				}
			}
		}
	}

	static Stream<Arguments> queries() {
		return Stream.of(Arguments.of("streams", BusStatus.STREAMS), Arguments.of("groups", BusStatus.GROUPS),
				Arguments.of("cursors", BusStatus.CURSORS), Arguments.of("consumers", BusStatus.CONSUMERS),
				Arguments.of("all streams", BusView.STREAMS), Arguments.of("all groups", BusView.GROUPS),
				Arguments.of("failures", FailureList.PAGE), Arguments.of("failures to change", FailureChanges.CHOOSE));
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("queries")
	void aQueryOfTheEndpointReadsNoMoreThanTheEndsOfTheLog(String name, String sql) {
		Map<String, Object> parameters = new HashMap<>(new FailureFilter(null, "dead", null, "t1").parameters());
		parameters.putAll(Map.of("group", "group-3", "limit", 100, "after", 500L, "stack", true, "payloadLimit", 1000,
				"states", new String[] { "dead" }, "dueToo", false));
		String plan = database.ownTransaction().execute((status) -> {
			database.own(BusStatus.PLANNER).query().listOfRows();
			return database.own("explain (analyze, format json) " + sql)
				.params(parameters)
				.query(String.class)
				.single();
		});
		assertReadsOnlyEnds(plan);
	}

	@Test
	void lagsAndSizesOfManyEventsAreEstimatesThatComeClose() {
		BusStatus status = new BusStatus(database);
		assertThat(status.streams(10)).hasSize(4).allSatisfy((stream) -> {
			assertThat((double) stream.estimatedEvents()).isCloseTo(EVENTS / 4d, within(EVENTS / 50d));
			assertThat(stream.lastEvent()).isGreaterThan(EVENTS - 4);
			assertThat(stream.firstPublishedAt()).isBefore(stream.lastPublishedAt());
		});
		List<GroupStatus> groups = status.groups(100);
		assertThat(groups).hasSize(20);
		for (GroupStatus group : groups) {
			int n = Integer.parseInt(group.group().substring("group-".length())) - 1;
			double behind = EVENTS * (20 - n) / 20d;
			assertThat((double) group.estimatedLag()).as(group.group()).isCloseTo(behind, within(behind / 20));
			assertThat(group.lagSeconds()).isGreaterThan(behind / 100);
			assertThat(group.cursors()).isEqualTo(32);
			assertThat(group.cursorsBehind()).isEqualTo(32);
			assertThat(group.streams()).hasSize(4);
			assertThat(group.failures().dead()).isEqualTo(n == 2 ? 3333 : 0);
			assertThat(group.failures().retrying()).isEqualTo(n == 2 ? 3334 : 0);
			assertThat(group.failures().held()).isEqualTo(n == 2 ? 3333 : 0);
		}
		assertThat(status.groups(3)).hasSize(3);
		assertThat(status.cursors("group-20", 100)).hasSize(32);
	}

	@Test
	void theRateIsThatOfTheLastMinute() {
		jdbc.sql("select pgbus.publish('busy', 'k', 't', '1')").query(Long.class).single();
		jdbc.sql("""
				insert into pgbus.event (stream_id, partition, size, type, key, payload, published_at)
				select id, 0, 1, 't', 'k', '1', clock_timestamp() - (2000 - n) * interval '100 ms'
				from pgbus.stream, generate_series(1, 2000) n where name = 'busy' order by n""").update();
		assertThat(new BusStatus(database).streams(10)).filteredOn((stream) -> stream.stream().equals("busy"))
			.singleElement()
			.satisfies((stream) -> assertThat(stream.estimatedRate()).isBetween(5d, 15d));
		forget("busy");
	}

	@Test
	void anEventAboveTheFloorOfAFinishedCursorThatItsHorizonSeesDoesNotWait() {
		long id = jdbc.sql("select pgbus.publish('quiet', 'k', 't', '1')").query(Long.class).single();
		jdbc.sql("insert into pgbus.consumer_group (name) values ('quiet')").update();
		jdbc.sql("""
				insert into pgbus.cursor (group_id, stream_id, partition)
				select g.id, s.id, e.partition from pgbus.consumer_group g, pgbus.stream s, pgbus.event e
				where g.name = 'quiet' and s.name = 'quiet' and e.stream_id = s.id""").update();
		jdbc.sql("""
				insert into pgbus.cursor_state (cursor_id, version, low_snapshot, low_floor, low_bound,
					high_snapshot, high_floor, high_bound, ceiling, position)
				select c.id, 1, '3:3:', 0, '3', pg_current_snapshot(), :floor, pg_current_xact_id(), :floor, :floor
				from pgbus.cursor c join pgbus.consumer_group g on g.id = c.group_id where g.name = 'quiet'""")
			.param("floor", id - 1)
			.update();
		String lag = "select estimated_lag from pgbus.group_status where group_name = 'quiet'";
		assertThat(jdbc.sql(lag).query(Long.class).single()).isZero();
		jdbc.sql("select pgbus.publish('quiet', 'k', 't', '1')").query(Long.class).single();
		assertThat(jdbc.sql(lag).query(Long.class).single()).isOne();
		jdbc.sql("delete from pgbus.consumer_group where name = 'quiet'").update();
		forget("quiet");
	}

	private static void forget(String stream) {
		jdbc.sql("delete from pgbus.event where stream_id = (select id from pgbus.stream where name = ?)")
			.param(stream)
			.update();
		jdbc.sql("delete from pgbus.stream where name = ?").param(stream).update();
	}

	@Test
	void anOperatorsRoleLooksAndPublishesWithAnySearchPathAndSeesNoPayload() throws Exception {
		String grants = new ClassPathResource("io/pgbus/store/grants-operator.sql")
			.getContentAsString(StandardCharsets.UTF_8)
			.replace(":\"schema\"", "\"pgbus\"")
			.replace(":\"role\"", "\"pgbus_test_operator\"");
		try (Connection connection = testDatabase.connect(); Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			statement.execute("create role pgbus_test_operator");
			statement.execute(grants);
			statement.execute("set local role pgbus_test_operator");
			statement.execute("set local search_path = pg_catalog");
			for (String view : List.of("stream_status", "group_status", "in_flight", "failure")) {
				statement.execute("select * from pgbus." + view);
			}
			statement.execute("select pgbus.publish('stream-1', 'k', 't', '{}')");
			statement.execute("select pgbus.publish('another', 'k', 't', '{}')");
			assertThatExceptionOfType(SQLException.class)
				.isThrownBy(() -> statement.execute("select payload from pgbus.event limit 1"))
				.withMessageContaining("permission denied");
			connection.rollback();
		}
	}

	private static void assertReadsOnlyEnds(String plan) {
		List<JsonNode> scans = new ArrayList<>();
		collect(JsonMapper.shared().readTree(plan), scans);
		for (JsonNode scan : scans) {
			String text = scan.toString();
			assertThat(scan.path("Actual Rows").asDouble()).as(text).isLessThanOrEqualTo(MAX_ROWS);
			assertThat(scan.path("Rows Removed by Filter").asDouble()).as(text).isLessThanOrEqualTo(MAX_ROWS);
			assertThat(scan.path("Rows Removed by Index Recheck").asDouble()).as(text).isLessThanOrEqualTo(MAX_ROWS);
			if ("event_0".equals(scan.path("Relation Name").asString())) {
				assertThat(scan.path("Node Type").asString()).as(text).isIn("Index Scan", "Index Only Scan");
			}
		}
	}

	private static void collect(JsonNode node, List<JsonNode> scans) {
		if (node.path("Relation Name").asString("").matches("event_\\d+")
				|| node.path("Index Name").asString("").matches("event_\\d+_.*")) {
			scans.add(node);
		}
		node.forEach((child) -> collect(child, scans));
	}

}
