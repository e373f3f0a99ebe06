package io.pgbus.autoconfigure;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

import io.pgbus.Event;
import io.pgbus.TableChange;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.annotation.PgTableListener;

import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
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
 * An application in a process of its own whose bus is in another database. It carries
 * what the test publishes into its outbox, listens to it, and writes what it was given to
 * the table <code>handled</code> of its own database, exactly once. Or it does so with
 * the changes of a table, which it also puts on the bus. Ends with its standard input.
 */
final class OutboxMain {

	static final String STREAM = "numbers";

	/** For <code>pgbus.table-listeners</code>: the listener starts if it has tables. */
	static final String TABLE_GROUP = "copies";

	private OutboxMain() {
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

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ JacksonAutoConfiguration.class, DataSourceAutoConfiguration.class,
			DataSourceTransactionManagerAutoConfiguration.class, JdbcTemplateAutoConfiguration.class,
			JdbcClientAutoConfiguration.class, TransactionAutoConfiguration.class, PgBusAutoConfiguration.class,
			PgBusListenerAutoConfiguration.class, PgBusNotificationAutoConfiguration.class,
			PgBusCaptureAutoConfiguration.class, PgBusDataSourceAutoConfiguration.class,
			PgBusOutboxAutoConfiguration.class })
	@Import(Changes.class)
	static class Application {

		private final JdbcClient jdbc;

		Application(JdbcClient jdbc) {
			this.jdbc = jdbc;
		}

		@PgEventListener(streams = STREAM, group = "handlers", start = "earliest", concurrency = "2")
		void on(Event<Integer> event) {
			this.jdbc.sql("insert into handled (key, n) values (?, ?)").params(event.key(), event.payload()).update();
			if (event.payload() % 50 == 7 && event.attempt() == 1) {
				throw new IllegalStateException("Not yet");
			}
		}

	}

	record Written(String key, int n) {

	}

	@ConditionalOnProperty("pgbus.table-listeners." + TABLE_GROUP + ".tables[0].name")
	static class Changes {

		private final JdbcClient jdbc;

		Changes(JdbcClient jdbc) {
			this.jdbc = jdbc;
		}

		@PgTableListener(group = TABLE_GROUP, concurrency = "2")
		void on(Event<TableChange<Written>> event) {
			Written written = event.payload().requireRecord();
			this.jdbc.sql("insert into handled (key, n) values (?, ?)").params(written.key(), written.n()).update();
			if (written.n() % 50 == 7 && event.attempt() == 1) {
				throw new IllegalStateException("Not yet");
			}
		}

	}

}
