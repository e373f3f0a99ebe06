package io.pgbus.autoconfigure;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;

import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import io.pgbus.listener.InstanceProcess;
import io.pgbus.testing.TestDatabase;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * An application in a process of its own that listens to the table <code>counter</code>,
 * and writes what it was given to the table <code>delivered</code>, exactly once. Ends
 * with its standard input.
 */
final class CapturingMain {

	private static final String TABLES = """
			create table counter (key int primary key, n int);
			create table delivered (ordinal bigint generated always as identity, operation text, key int, n int);
			""";

	private CapturingMain() {
	}

	static void createTables(JdbcClient jdbc) {
		jdbc.sql(TABLES).update();
	}

	/**
	 * Starts the application.
	 * @param database the database
	 * @param heap the most memory for its objects
	 * @param properties properties of the application, each as <code>name=value</code>
	 */
	static InstanceProcess start(TestDatabase database, String heap, String... properties) {
		return InstanceProcess.start(CapturingMain.class, database,
				List.of("-Xmx" + heap, "-XX:+ExitOnOutOfMemoryError"), properties);
	}

	public static void main(String[] args) throws IOException {
		String[] properties = Arrays.stream(args)
			.map((arg) -> "--" + (arg.startsWith("pgbus.") ? "" : "spring.datasource.") + arg)
			.toArray(String[]::new);
		try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
			.web(WebApplicationType.NONE)
			.bannerMode(Banner.Mode.OFF)
			.run(properties)) {
			// until the test closes it, or is gone
			System.in.transferTo(OutputStream.nullOutputStream());
		}
		System.exit(0);
	}

	record Counter(int key, int n) {

	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ JacksonAutoConfiguration.class, DataSourceAutoConfiguration.class,
			DataSourceTransactionManagerAutoConfiguration.class, JdbcTemplateAutoConfiguration.class,
			JdbcClientAutoConfiguration.class, TransactionAutoConfiguration.class, PgBusAutoConfiguration.class,
			PgBusListenerAutoConfiguration.class, PgBusNotificationAutoConfiguration.class,
			PgBusCaptureAutoConfiguration.class })
	static class Infrastructure {

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Infrastructure.class)
	static class Application {

		private static final String DELIVER = """
				insert into delivered (operation, key, n)
				select d.operation, d.key, d.n
				from unnest(?::text[], ?::integer[], ?::integer[]) with ordinality as d(operation, key, n, ordinal)
				order by d.ordinal
				""";

		private final JdbcClient jdbc;

		Application(JdbcClient jdbc) {
			this.jdbc = jdbc;
		}

		@PgTableListener(group = "deliveries", tables = @PgTable(name = "counter"),
				operations = { TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE }, batch = "true",
				concurrency = "2")
		void on(List<TableChange<Counter>> changes) {
			this.jdbc.sql(DELIVER)
				.param(changes.stream().map((change) -> change.operation().name()).toArray(String[]::new))
				.param(changes.stream().map((change) -> (Integer) change.key().get("key")).toArray(Integer[]::new))
				.param(changes.stream().map((change) -> number(change.record())).toArray(Integer[]::new))
				.update();
		}

		private static @Nullable Integer number(@Nullable Counter record) {
			return (record != null) ? record.n() : null;
		}

	}

}
