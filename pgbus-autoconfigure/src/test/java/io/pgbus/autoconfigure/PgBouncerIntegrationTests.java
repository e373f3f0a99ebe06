package io.pgbus.autoconfigure;

import io.pgbus.store.NotificationListener;
import io.pgbus.testing.PgBouncer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * An application whose pool goes through a PgBouncer that hands the server's session on
 * after every transaction.
 */
@ExtendWith(OutputCaptureExtension.class)
class PgBouncerIntegrationTests {

	private static TestDatabase database;

	private static PgBouncer bouncer;

	@BeforeAll
	static void start() {
		database = TestDatabase.create();
		bouncer = PgBouncer.start(database);
	}

	@AfterAll
	static void stop() {
		if (bouncer != null) {
			bouncer.close();
		}
		database.close();
	}

	@Test
	void busWorksByPollingAndSaysSoOnce(CapturedOutput output) {
		behindBouncer("polls").run((context) -> {
			BusApplication.publishAndListen(context, 50);
			await().untilAsserted(() -> assertThat(output).contains("Cannot listen for wake-ups"));
			assertThat(context.getBean(NotificationListener.class).isListening()).isFalse();
			BusApplication.publishAndListen(context, 1);
		});
		assertThat(output.toString().lines().filter((line) -> line.contains("WARN"))).singleElement()
			.asString()
			.contains("Cannot listen for wake-ups")
			.contains("pgbus.notifications.url");
	}

	@Test
	void directUrlGivesListeningBack(CapturedOutput output) {
		behindBouncer("listens").withPropertyValues("pgbus.notifications.url=" + database.jdbcUrl()).run((context) -> {
			BusApplication.publishAndListen(context, 50);
			await().until(() -> context.getBean(NotificationListener.class).isListening());
			await()
				.until(() -> database.jdbc().sql("select locked from listens.consumer").query(Boolean.class).single());
		});
		assertThat(output).doesNotContain("WARN");
	}

	private static ApplicationContextRunner behindBouncer(String schema) {
		return BusApplication.on(database, schema).withPropertyValues("spring.datasource.url=" + bouncer.jdbcUrl());
	}

}
