package io.pgbus.autoconfigure;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.Stream;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.DeliveryMode;
import io.pgbus.EventPublisher;
import io.pgbus.PgBusException;
import io.pgbus.StartPosition;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * How the bus's schema comes to be, by the application or by others, and what rights that
 * takes.
 */
class SchemaIntegrationTests {

	private static final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = database.jdbc();

	@AfterAll
	static void dropDatabase() {
		List<String> roles = database.jdbc()
			.sql("select rolname from pg_roles where rolname like 'pgbus_test_%'")
			.query(String.class)
			.list();
		roles.forEach((role) -> {
			database.jdbc().sql("drop owned by " + role + " cascade").update();
			database.jdbc().sql("drop role " + role).update();
		});
		database.close();
	}

	@Test
	void schemaIsMadeAfterTheApplicationsMigrationsAndBesideTheirHistory() {
		ApplicationContextRunner application = BusApplication.on(database, "after_flyway")
			.withConfiguration(BusApplication.flyway())
			.withPropertyValues("spring.flyway.locations=classpath:io/pgbus/autoconfigure/migration");
		application.run(SchemaIntegrationTests::publishes);
		// nor does a second start find anything to do
		application.run(SchemaIntegrationTests::publishes);
		assertThat(this.jdbc.sql("select schemas from bus_before").query(Long.class).single()).isZero();
		assertThat(history("public.flyway_schema_history")).containsExactly("shop");
		assertThat(history("after_flyway.pgbus_schema_history")).containsExactly("event log", "table listeners",
				"backfills", "retention", "inbox", "origin", "rebase");
	}

	@ParameterizedTest
	@ValueSource(strings = { "select", "It's a \"quoted\" größe? $1 {bus} :x \\" })
	void schemaMayHaveAnyName(String name) {
		BusApplication.on(database, name).run((context) -> {
			publishes(context);
			listens(context);
		});
		assertThat(this.jdbc.sql("select count(*) from pg_namespace where nspname = ?")
			.param(name)
			.query(Long.class)
			.single()).isOne();
	}

	@Test
	void schemaMayBeOneThatHoldsTheApplicationsTables() {
		this.jdbc.sql("create schema app_tables").update();
		this.jdbc.sql("create table app_tables.invoice (id integer)").update();
		this.jdbc.sql("create table app_tables.flyway_schema_history (theirs integer)").update();
		BusApplication.on(database, "app_tables").run(SchemaIntegrationTests::publishes);
		assertThat(this.jdbc.sql("select * from app_tables.flyway_schema_history").query().listOfRows()).isEmpty();
	}

	@Test
	void missingSchemaIsRefusedWithWhatToRunWhereItIsMadeByOthers() {
		BusApplication.on(database, "Not there")
			.withPropertyValues("pgbus.schema.initialize=never")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("""
						    create schema if not exists "Not there";
						    set search_path = "Not there";
						    \\i V1__event_log.sql
						    \\i V2__table_listeners.sql
						    \\i V3__backfills.sql
						    \\i V4__retention.sql
						    \\i V5__inbox.sql
						    \\i V6__origin.sql
						    \\i V7__rebase.sql
						""")
				.hasMessageContaining("io/pgbus/store/schema")
				.hasMessageContaining("pgbus.schema.initialize=always"));
		assertThat(new ClassPathResource("io/pgbus/store/schema/V1__event_log.sql").exists()).isTrue();
	}

	@Test
	void schemaMadeByHandServesAndIsTakenOver() {
		makeByHand("by_hand");
		ApplicationContextRunner application = BusApplication.on(database, "by_hand");
		application.withPropertyValues("pgbus.schema.initialize=never").run(SchemaIntegrationTests::publishes);
		application.run(SchemaIntegrationTests::publishes);
		assertThat(count("by_hand.event")).isEqualTo(2);
	}

	@Test
	void schemaOfAnOlderVersionIsMigratedWithWhatIsInIt() {
		makeVersionOneByHand("older");
		this.jdbc.sql("select older.publish('before', 'k', 't', '1')").query(Long.class).single();
		BusApplication.on(database, "older")
			.withPropertyValues("pgbus.schema.initialize=never")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("has version 1")
				.hasMessageContaining("""
						    set search_path = "older";
						    \\i V2__table_listeners.sql
						    \\i V3__backfills.sql
						    \\i V4__retention.sql
						    \\i V5__inbox.sql
						    \\i V6__origin.sql
						    \\i V7__rebase.sql
						""")
				.hasMessageNotContaining("V1__"));
		BusApplication.on(database, "older").run((context) -> {
			publishes(context);
			listens(context);
		});
		assertThat(this.jdbc.sql("select schema_version from older.bus").query(Integer.class).single()).isEqualTo(7);
		assertThat(this.jdbc.sql("select estimated_events from older.stream_status where stream = 'before'")
			.query(Long.class)
			.single()).isOne();
	}

	@Test
	void schemaOfANewerVersionIsRefused() {
		makeByHand("newer");
		this.jdbc.sql("update newer.bus set schema_version = 1000").update();
		Stream.of("always", "never")
			.forEach((initialize) -> BusApplication.on(database, "newer")
				.withPropertyValues("pgbus.schema.initialize=" + initialize)
				.run((context) -> assertThat(context).getFailure()
					.rootCause()
					.isInstanceOf(PgBusException.class)
					.hasMessageContaining("version 1000")
					.hasMessageContaining("newer pgbus")));
	}

	@Test
	void roleThatOwnsOnlyTheSchemaCanMakeWhatIsInIt() {
		createRole("pgbus_test_owner");
		this.jdbc.sql("create schema owned authorization pgbus_test_owner").update();
		ApplicationContextRunner application = as("pgbus_test_owner", "owned");
		application.run((context) -> {
			assertThat(context.getBean(JdbcClient.class)
				.sql("select has_database_privilege(current_database(), 'CREATE')")
				.query(Boolean.class)
				.single()).isFalse();
			publishes(context);
			listens(context);
		});
		application.withPropertyValues("pgbus.schema.initialize=never").run(SchemaIntegrationTests::publishes);
	}

	@Test
	void roleThatMayNotMakeTheSchemaIsToldBySomeoneWhoKnowsWhy() {
		createRole("pgbus_test_nobody");
		as("pgbus_test_nobody", "forbidden").run((context) -> assertThat(context).getFailure()
			.rootCause()
			.hasMessageContaining("permission denied for database"));
	}

	@Test
	void roleWithTheGrantsOfTheScriptPublishesAndListens() {
		createRole("pgbus_test_user");
		makeByHand("granted");
		String grants = resource("io/pgbus/store/grants.sql").replace(":\"schema\"", "\"granted\"")
			.replace(":\"role\"", "\"pgbus_test_user\"");
		run(grants);
		as("pgbus_test_user", "granted").withPropertyValues("pgbus.schema.initialize=never").run((context) -> {
			publishes(context);
			listens(context);
			retries(context);
			commands(context);
		});
		// what is there already needs no rights to be made
		as("pgbus_test_user", "granted").run(SchemaIntegrationTests::publishes);
		assertThat(count("granted.consumer")).isZero();
	}

	@Test
	void applicationsThatStartTogetherOnAnEmptyDatabaseAllComeUp() {
		int count = 3;
		CyclicBarrier start = new CyclicBarrier(count);
		List<CompletableFuture<Void>> starts = Stream.generate(() -> CompletableFuture.runAsync(() -> {
			try {
				start.await();
			}
			catch (Exception ex) {
				throw new IllegalStateException(ex);
			}
			BusApplication.on(database, "together").run(SchemaIntegrationTests::publishes);
		})).limit(count).toList();
		starts.forEach(CompletableFuture::join);
		assertThat(count("together.event")).isEqualTo(count);
	}

	private static void publishes(ApplicationContext context) {
		assertThat(context.getBean(EventPublisher.class).publish("orders", "42", "hello")).isPositive();
	}

	private static void listens(ApplicationContext context) {
		List<String> received = new CopyOnWriteArrayList<>();
		PgListenerContainerRegistry registry = context.getBean(PgListenerContainerRegistry.class);
		for (DeliveryMode delivery : DeliveryMode.values()) {
			registry.register(PgListenerEndpoint.id(delivery.name())
				.streams("orders")
				.start(StartPosition.earliest())
				.delivery(delivery)
				.onEvent(String.class, (event) -> received.add(delivery + " " + event.payload())));
		}
		await().untilAsserted(
				() -> assertThat(received).containsExactlyInAnyOrder("EXACTLY_ONCE hello", "AT_LEAST_ONCE hello"));
	}

	private static void retries(ApplicationContext context) {
		List<Integer> attempts = new CopyOnWriteArrayList<>();
		context.getBean(PgListenerContainerRegistry.class)
			.register(PgListenerEndpoint.id("retries")
				.streams("orders")
				.start(StartPosition.earliest())
				.onEvent(String.class, (event) -> {
					attempts.add(event.attempt());
					if (event.attempt() == 1) {
						throw new IllegalStateException("Try again");
					}
				}));
		await().untilAsserted(() -> assertThat(attempts).containsExactly(1, 2));
	}

	private static void commands(ApplicationContext context) {
		ConsumerGroupOperations groups = context.getBean(ConsumerGroupOperations.class);
		groups.createGroup("pull", List.of("orders"), StartPosition.earliest());
		assertThat(groups.read("pull", "me", 10)).hasSize(1);
		groups.seek("pull", StartPosition.latest(), true);
		groups.pauseGroup("pull");
		groups.deleteGroup("pull", true);
	}

	/** As psql does it: the script as it is, with the search path set. */
	private static void makeByHand(String schema) {
		makeVersionOneByHand(schema);
		run("set search_path = " + schema + ";" + resource("io/pgbus/store/schema/V2__table_listeners.sql")
				+ resource("io/pgbus/store/schema/V3__backfills.sql")
				+ resource("io/pgbus/store/schema/V4__retention.sql") + resource("io/pgbus/store/schema/V5__inbox.sql")
				+ resource("io/pgbus/store/schema/V6__origin.sql") + resource("io/pgbus/store/schema/V7__rebase.sql"));
	}

	private static void makeVersionOneByHand(String schema) {
		run("create schema " + schema + "; set search_path = " + schema + ";"
				+ resource("io/pgbus/store/schema/V1__event_log.sql"));
	}

	private static void run(String script) {
		Properties simple = new Properties();
		simple.setProperty("user", database.username());
		simple.setProperty("password", database.password());
		// like psql: the server takes the script apart, not the driver
		simple.setProperty("preferQueryMode", "simple");
		try (Connection connection = DriverManager.getConnection(database.jdbcUrl(), simple);
				Statement statement = connection.createStatement()) {
			statement.execute(script);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private void createRole(String name) {
		this.jdbc.sql("create role %s login password '%s'".formatted(name, name)).update();
		this.jdbc.sql("revoke create on database %s from public".formatted(database.name())).update();
	}

	private static ApplicationContextRunner as(String role, String schema) {
		return BusApplication.on(database, schema)
			.withPropertyValues("spring.datasource.username=" + role, "spring.datasource.password=" + role);
	}

	private long count(String table) {
		return this.jdbc.sql("select count(*) from " + table).query(Long.class).single();
	}

	private List<String> history(String table) {
		return this.jdbc.sql("select description from " + table + " order by installed_rank")
			.query(String.class)
			.list();
	}

	private static String resource(String name) {
		try {
			return new ClassPathResource(name).getContentAsString(StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
