package io.pgbus.autoconfigure;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import io.pgbus.EventPublisher;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Boot's switch for virtual threads.
 */
class VirtualThreadsIntegrationTests {

	private static final TestDatabase database = TestDatabase.create();

	@AfterAll
	static void dropDatabase() {
		database.close();
	}

	@Test
	@EnabledForJreRange(min = JRE.JAVA_21)
	void workersAreVirtualWhereThereAreVirtualThreads() {
		assertThat(worker("spring.threads.virtual.enabled=true")).startsWith("VirtualThread")
			.contains("pgbus-listener-");
	}

	@Test
	@EnabledForJreRange(max = JRE.JAVA_20)
	void switchIsIgnoredWhereThereAreNone() {
		assertThat(worker("spring.threads.virtual.enabled=true")).startsWith("Thread[pgbus-listener-");
	}

	@Test
	void workersArePlatformThreadsByDefault() {
		assertThat(worker("pgbus.enabled=true")).startsWith("Thread[").contains("pgbus-listener-");
	}

	private static String worker(String property) {
		List<String> threads = new CopyOnWriteArrayList<>();
		BusApplication.on(database).withPropertyValues(property).run((context) -> {
			context.getBean(PgListenerContainerRegistry.class)
				.register(PgListenerEndpoint.id("listener")
					.streams("orders")
					.onEvent(String.class, (event) -> threads.add(Thread.currentThread().toString())));
			context.getBean(EventPublisher.class).publish("orders", "hello");
			await().until(() -> !threads.isEmpty());
		});
		return threads.get(0);
	}

}
