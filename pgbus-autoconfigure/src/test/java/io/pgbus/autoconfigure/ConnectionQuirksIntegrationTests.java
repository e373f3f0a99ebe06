package io.pgbus.autoconfigure;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

import io.pgbus.PgBusException;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Connections that are set up in unusual ways: the bus works with what they are.
 */
@ExtendWith(OutputCaptureExtension.class)
class ConnectionQuirksIntegrationTests {

	private static final TestDatabase database = TestDatabase.create();

	@AfterAll
	static void dropDatabase() {
		database.close();
	}

	@Test
	void poolMayHaveAutoCommitOff(CapturedOutput output) {
		BusApplication.on(database, "no_auto_commit")
			.withPropertyValues("spring.datasource.hikari.auto-commit=false")
			.run((context) -> BusApplication.publishAndListen(context, 20));
		// also once the schema is there
		BusApplication.on(database, "no_auto_commit")
			.withPropertyValues("spring.datasource.hikari.auto-commit=false", "pgbus.schema.initialize=never",
					"pgbus.streams.declared.partitions=2")
			.run((context) -> BusApplication.publishAndListen(context, 1));
		assertThat(output).doesNotContain("WARN");
		assertThat(database.jdbc().sql("select count(*) from no_auto_commit.consumer").query(Long.class).single())
			.isZero();
	}

	@ParameterizedTest
	@ValueSource(strings = { "-c search_path=", "-c search_path=nowhere", "-c search_path=odd,public,pg_catalog" })
	void searchPathMayLeadAnywhere(String options, CapturedOutput output) {
		database.jdbc().sql("create schema if not exists odd").update();
		// which would be met by who relies on the search path
		database.jdbc().sql("create table if not exists odd.event (id integer)").update();
		String schema = "path_" + Integer.toUnsignedString(options.hashCode());
		withOptions(schema, options).run((context) -> {
			String before = searchPath(context.getBean(JdbcClient.class));
			BusApplication.publishAndListen(context, 5);
			assertThat(searchPath(context.getBean(JdbcClient.class))).isEqualTo(before);
		});
		assertThat(output).doesNotContain("WARN");
	}

	@Test
	void searchPathMayBeSetWhenAConnectionIsMade(CapturedOutput output) {
		BusApplication.on(database, "init_sql")
			.withPropertyValues("spring.datasource.hikari.connection-init-sql=set search_path = ''")
			.run((context) -> BusApplication.publishAndListen(context, 5));
		assertThat(output).doesNotContain("WARN");
	}

	@ParameterizedTest
	@ValueSource(strings = { "serializable", "repeatable read" })
	void transactionsMayBeIsolatedByDefault(String isolation, CapturedOutput output) {
		withOptions(isolation, "-c default_transaction_isolation=" + isolation.replace(" ", "\\ "))
			.run((context) -> BusApplication.publishAndListen(context, 200));
		assertThat(output).doesNotContain("WARN");
	}

	@Test
	void poolMayIsolateTransactionsByDefault(CapturedOutput output) {
		BusApplication.on(database, "pool_isolation")
			.withPropertyValues("spring.datasource.hikari.transaction-isolation=TRANSACTION_SERIALIZABLE")
			.run((context) -> BusApplication.publishAndListen(context, 200));
		assertThat(output).doesNotContain("WARN");
	}

	@Test
	void transactionsThatAreReadOnlyByDefaultAreRefused() {
		withOptions("read_only", "-c default_transaction_read_only=on")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("takes no writes")
				.hasMessageContaining("default_transaction_read_only"));
	}

	/** The start that makes it needs two, for Flyway. */
	@Test
	void poolMayHaveOneConnectionOnceTheSchemaIsThere(CapturedOutput output) {
		BusApplication.on(database, "one_connection").run((context) -> assertThat(context).hasNotFailed());
		BusApplication.on(database, "one_connection")
			.withPropertyValues("spring.datasource.hikari.maximum-pool-size=1")
			.run((context) -> {
				BusApplication.publishAndListen(context, 20);
				assertThat(context.getBean(PgListenerContainerRegistry.class).containers()).isEmpty();
			});
		assertThat(output).doesNotContain("WARN");
	}

	private static ApplicationContextRunner withOptions(String schema, String options) {
		String url = database.jdbcUrl();
		return BusApplication.on(database, schema)
			.withPropertyValues("spring.datasource.url=" + url + (url.contains("?") ? "&" : "?") + "options="
					+ URLEncoder.encode(options, StandardCharsets.UTF_8).replace("+", "%20"));
	}

	private static String searchPath(JdbcClient jdbc) {
		return jdbc.sql("show search_path").query(String.class).single();
	}

}
