package io.pgbus.autoconfigure;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.testing.TestDatabase;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A bus of each older version of the schema, with groups in the middle of their work, is
 * migrated while an application of the time goes on publishing. What such an application
 * leaves of its groups is put in place by SQL.
 */
class SchemaUpgradeIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = this.database.jdbc();

	private final ExecutorService threads = Executors.newSingleThreadExecutor();

	private final AtomicBoolean publishing = new AtomicBoolean(true);

	private final Set<Long> published = new ConcurrentSkipListSet<>();

	@AfterEach
	void close() {
		this.publishing.set(false);
		this.threads.shutdownNow();
		this.database.close();
	}

	@ParameterizedTest
	@MethodSource("olderVersions")
	void everyEventIsHandledOnceThoughTheSchemaIsMigratedBelowAnOldPublisher(int version, boolean byHand)
			throws Exception {
		makeSchema(version, byHand);
		assertThat(this.jdbc.sql("select schema_version from pgbus.bus").query(Integer.class).single())
			.isEqualTo(version);
		Set<Long> done = populate();
		Future<?> publisher = this.threads.submit(this::publishAsBefore);
		await().until(() -> this.published.size() > 100);
		BusApplication.on(this.database, "pgbus").run((context) -> {
			Map<String, ConcurrentLinkedQueue<Long>> handled = new TreeMap<>();
			for (String group : List.of("busy", "idle")) {
				ConcurrentLinkedQueue<Long> ids = handled.computeIfAbsent(group,
						(name) -> new ConcurrentLinkedQueue<>());
				context.getBean(PgListenerContainerRegistry.class)
					.register(PgListenerEndpoint.id(group)
						.streams("s")
						.onEvent(Integer.class, (event) -> ids.add(event.id())));
			}
			int migrated = this.published.size();
			await().until(() -> publisher.isDone() || this.published.size() > migrated + 20);
			this.publishing.set(false);
			publisher.get();
			assertThat(this.jdbc.sql("select schema_version from pgbus.bus").query(Integer.class).single())
				.isEqualTo(newest());
			Set<Long> left = new ConcurrentSkipListSet<>(this.published);
			left.removeAll(done);
			await().untilAsserted(() -> assertThat(handled.get("busy")).containsAll(left));
			await().untilAsserted(() -> assertThat(handled.get("idle")).containsAll(this.published));
			await().untilAsserted(
					() -> assertThat(this.jdbc.sql("select * from pgbus.failed_event").query().listOfRows()).isEmpty());
			assertThat(handled.get("busy")).containsExactlyInAnyOrderElementsOf(left);
			assertThat(handled.get("idle")).containsExactlyInAnyOrderElementsOf(this.published);
		});
	}

	static Stream<Arguments> olderVersions() {
		return scripts().stream()
			.map(SchemaUpgradeIntegrationTests::versionOf)
			.filter((version) -> version < newest())
			.flatMap((version) -> (version == 1) ? Stream.of(Arguments.of(version, true), Arguments.of(version, false))
					: Stream.of(Arguments.of(version, false)));
	}

	private static int newest() {
		return versionOf(scripts().get(scripts().size() - 1));
	}

	private static List<Resource> scripts() {
		try {
			return Arrays
				.stream(new PathMatchingResourcePatternResolver()
					.getResources("classpath:io/pgbus/store/schema/V*.sql"))
				.sorted(Comparator.comparingInt(SchemaUpgradeIntegrationTests::versionOf))
				.toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static int versionOf(Resource script) {
		String name = script.getFilename();
		return Integer.parseInt(name.substring(1, name.indexOf("__")));
	}

	private void makeSchema(int version, boolean byHand) throws SQLException, IOException {
		if (byHand) {
			StringBuilder all = new StringBuilder("create schema pgbus; set search_path = pgbus;");
			for (Resource script : scripts()) {
				all.append((versionOf(script) <= version) ? script.getContentAsString(StandardCharsets.UTF_8) : "");
			}
			run(all.toString());
			return;
		}
		// as an application of that version did
		Flyway.configure()
			.dataSource(this.database.dataSource())
			.locations("classpath:io/pgbus/store/schema")
			.defaultSchema("pgbus")
			.table("pgbus_schema_history")
			.placeholderReplacement(false)
			.target(String.valueOf(version))
			.load()
			.migrate();
	}

	/** Like psql: the server takes the script apart, not the driver. */
	private void run(String script) throws SQLException {
		Properties simple = new Properties();
		simple.setProperty("user", this.database.username());
		simple.setProperty("password", this.database.password());
		simple.setProperty("preferQueryMode", "simple");
		try (Connection connection = DriverManager.getConnection(this.database.jdbcUrl(), simple);
				Statement statement = connection.createStatement()) {
			statement.execute(script);
		}
	}

	/**
	 * One group is in the middle of a window, with an event that is done ahead of its
	 * position, one that has failed, and one of a transaction that commits late. The
	 * other has not begun.
	 * @return what the first has done
	 */
	private Set<Long> populate() throws SQLException {
		this.jdbc.sql("insert into pgbus.stream (name, partitions) values ('s', 2)").update();
		try (Connection late = this.database.connect(); Statement statement = late.createStatement()) {
			late.setAutoCommit(false);
			try (ResultSet row = statement.executeQuery("select pgbus.publish('s', 'late', 't', '0')")) {
				row.next();
				this.published.add(row.getLong(1));
			}
			this.published.addAll(
					this.jdbc.sql("select pgbus.publish('s', 'k' || n, 't', to_jsonb(n)) from generate_series(1, 40) n")
						.query(Long.class)
						.list());
			this.jdbc
				.sql("""
						with made as (
							insert into pgbus.consumer_group (name) values ('busy'), ('idle') returning id, name
						),
						cursors as (
							insert into pgbus.cursor (group_id, stream_id, partition)
							select g.id, s.id, p from made g, pgbus.stream s, generate_series(0, 1) p
							returning *
						),
						last as materialized (select last_value as id from pgbus.event_id)
						insert into pgbus.cursor_state (cursor_id, version, low_snapshot, low_floor, low_bound,
							high_snapshot, high_floor, high_bound, ceiling, position)
						select c.id, 7, '3:3:', 0, '3',
							case when g.name = 'busy' then pg_current_snapshot() else '3:3:' end,
							case when g.name = 'busy' then last.id else 0 end,
							case when g.name = 'busy' then pg_current_xact_id() else '3' end,
							case when g.name = 'busy' then last.id else 0 end,
							case when g.name = 'busy' then (
								select e.id from pgbus.event e where e.partition = c.partition order by e.id offset 4 limit 1
							) else 0 end
						from cursors c join made g on g.id = c.group_id cross join last""")
				.update();
			late.commit();
		}
		String nth = """
				select c.id as cursor_id, (
					select e.id from pgbus.event e
					where e.partition = c.partition and e.key <> 'late' and e.id > s.position order by e.id offset %d limit 1
				) as event_id
				from pgbus.cursor c
				join pgbus.cursor_state s on s.cursor_id = c.id
				join pgbus.consumer_group g on g.id = c.group_id and g.name = 'busy'
				""";
		this.jdbc.sql("insert into pgbus.ledger (cursor_id, event_id) " + nth.formatted(1)).update();
		this.jdbc.sql("""
				insert into pgbus.failed_event
					(cursor_id, event_id, key, type, state, holds_key, attempts, next_attempt_at)
				select n.cursor_id, n.event_id, e.key, e.type, 'retrying', true, 1, now()
				from pgbus.event e join (%s) n on n.event_id = e.id""".formatted(nth.formatted(2))).update();
		return new ConcurrentSkipListSet<>(this.jdbc.sql("""
				select event_id from pgbus.ledger
				union all
				select e.id from pgbus.event e
				join pgbus.cursor c on c.partition = e.partition
				join pgbus.cursor_state s on s.cursor_id = c.id
				where e.id <= s.position and e.key <> 'late'""").query(Long.class).list());
	}

	/** By the function for SQL, and as the first publisher in Java did it. */
	private Void publishAsBefore() throws SQLException {
		try (Connection connection = this.database.connect();
				PreparedStatement function = connection
					.prepareStatement("select pgbus.publish('s', ?, 't', '1'), pg_sleep(0.002)::text");
				PreparedStatement insert = connection.prepareStatement("""
						insert into pgbus.event (stream_id, partition, size, type, key, payload, headers)
						select s.id, pgbus.partition_of(?, s.partitions), 1, 't', 'k', '1', null
						from pgbus.stream s where s.name = 's'
						returning id""")) {
			connection.setAutoCommit(false);
			for (int i = 0; this.publishing.get(); i++) {
				long first = id(function, "key-" + i % 10);
				long second = id(insert, "key-" + i % 10);
				connection.commit();
				this.published.add(first);
				this.published.add(second);
			}
		}
		return null;
	}

	private static long id(PreparedStatement statement, String key) throws SQLException {
		statement.setString(1, key);
		try (ResultSet row = statement.executeQuery()) {
			row.next();
			return row.getLong(1);
		}
	}

}
