package io.pgbus.autoconfigure;

import java.util.Arrays;
import java.util.List;

import io.pgbus.testing.TestDatabase;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;

/**
 * Application contexts as Boot makes them of what an application usually has.
 */
final class BusApplication {

	private BusApplication() {
	}

	/** An application without a DataSource, unless its beans are one. */
	static ApplicationContextRunner runner() {
		return new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(JacksonAutoConfiguration.class,
				DataSourceTransactionManagerAutoConfiguration.class, JdbcTemplateAutoConfiguration.class,
				JdbcClientAutoConfiguration.class, TransactionAutoConfiguration.class, PgBusAutoConfiguration.class,
				PgBusListenerAutoConfiguration.class, PgBusNotificationAutoConfiguration.class));
	}

	/** An application whose DataSource is this database, with a schema of its own. */
	static ApplicationContextRunner on(TestDatabase database, String schema) {
		return runner().withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
			.withPropertyValues(database.springProperties())
			.withPropertyValues("spring.datasource.hikari.minimum-idle=0", "pgbus.schema.name=" + schema);
	}

	static ApplicationContextRunner on(TestDatabase database) {
		return on(database, "pgbus");
	}

	static AutoConfigurations flyway() {
		return AutoConfigurations.of(FlywayAutoConfiguration.class);
	}

	static AutoConfigurations jpa() {
		return AutoConfigurations.of(HibernateJpaAutoConfiguration.class);
	}

	/** The names of the bus's threads that run at this time. */
	static List<String> busThreads() {
		Thread[] threads = new Thread[Thread.activeCount() + 100];
		int count = Thread.enumerate(threads);
		return Arrays.stream(threads, 0, count)
			.map(Thread::getName)
			.filter((name) -> name.startsWith("pgbus-"))
			.toList();
	}

}
