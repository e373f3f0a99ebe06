package io.pgbus.autoconfigure;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

import io.pgbus.Event;
import io.pgbus.annotation.PgEventListener;

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
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * An application in a process of its own whose bus is in another database. It carries
 * what the test publishes into its outbox, listens to it, and writes what it was given to
 * the table <code>handled</code> of its own database, exactly once. Ends with its
 * standard input.
 */
final class OutboxMain {

	static final String STREAM = "numbers";

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
			PgBusDataSourceAutoConfiguration.class, PgBusOutboxAutoConfiguration.class })
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

}
