package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;

import io.pgbus.DeliveryMode;
import io.pgbus.EventPublisher;
import io.pgbus.OutgoingEvent;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.store.NotificationListener;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A running application that loses its connections: no event is missed, it listens again,
 * and the log says once what happened and once that it is over.
 */
@ExtendWith(OutputCaptureExtension.class)
class ServerRestartIntegrationTests {

	private static OwnServer server;

	private static TestDatabase database;

	private final Set<Integer> received = ConcurrentHashMap.newKeySet();

	@BeforeAll
	static void start() {
		server = TestDatabase.startOwnServer(Map.of());
		database = server.createDatabase();
	}

	@AfterAll
	static void stop() {
		if (server != null) {
			server.close();
		}
	}

	@Test
	void lostListenConnectionIsMadeAnew(CapturedOutput output) {
		application("kill").run((context) -> {
			listen(context);
			publishAndAwait(context, 0);
			// a poll is far away: what comes now comes by a wake-up
			assertThat(database.jdbc().sql("""
					select pg_terminate_backend(pid) from pg_stat_activity
					where datname = current_database() and application_name = 'pgbus'
					""").query(Boolean.class).list()).containsExactly(true);
			await().untilAsserted(() -> assertThat(output).contains("Listening again"));
			publishAndAwait(context, 100);
		});
		assertThat(lines(output, "NotificationListener")).hasSize(3)
			.satisfiesExactly((line) -> assertThat(line).contains("Listening for"),
					(line) -> assertThat(line).contains("WARN").contains("Lost the connection"),
					(line) -> assertThat(line).contains("Listening again"));
		assertThat(lines(output, "WARN")).hasSize(1);
	}

	@Test
	void restartOfTheServerIsSurvived(CapturedOutput output) {
		application("restart").withPropertyValues("pgbus.listener.poll-interval=200ms").run((context) -> {
			listen(context);
			publishAndAwait(context, 0);
			server.restart(OwnServer.StopMode.IMMEDIATE);
			publishAndAwait(context, 100);
			NotificationListener listener = context.getBean(NotificationListener.class);
			await().atMost(Duration.ofSeconds(30)).until(listener::isListening);
			publishAndAwait(context, 200);
			assertThat(context.getBean(PgListenerContainerRegistry.class).containers())
				.allSatisfy((container) -> assertThat(container.state()).hasToString("RUNNING"));
		});
		assertThat(lines(output, "Lost the connection")).hasSize(1);
		assertThat(lines(output, "Listening again")).hasSize(1);
		assertThat(lines(output, "cannot look for work")).hasSizeLessThanOrEqualTo(1);
		assertThat(lines(output, "looks for work again")).hasSameSizeAs(lines(output, "cannot look for work"));
		assertThat(lines(output, "cannot go on")).hasSizeLessThanOrEqualTo(1);
		assertThat(lines(output, "failed to handle")).isEmpty();
	}

	private static ApplicationContextRunner application(String schema) {
		return BusApplication.on(database, schema)
			.withPropertyValues("spring.datasource.hikari.minimum-idle=2",
					"spring.datasource.hikari.connection-timeout=5000", "pgbus.listener.poll-interval=1h");
	}

	private void listen(ApplicationContext context) {
		context.getBean(PgListenerContainerRegistry.class)
			.register(PgListenerEndpoint.id("listener")
				.streams("orders")
				.delivery(DeliveryMode.EXACTLY_ONCE)
				.onEvent(Integer.class, (event) -> assertThat(this.received.add(event.payload())).isTrue()));
		await().until(() -> context.getBean(NotificationListener.class).isListening());
	}

	/** By an application that has no listeners, so that only notifications tell of it. */
	private void publishAndAwait(ApplicationContext context, int from) {
		List<Integer> numbers = IntStream.range(from, from + 100).boxed().toList();
		application(context.getEnvironment().getRequiredProperty("pgbus.schema.name"))
			.run((other) -> other.getBean(EventPublisher.class)
				.publishAll(numbers.stream().map((i) -> OutgoingEvent.to("orders").payload(i)).toList()));
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(this.received).containsAll(numbers));
	}

	private static List<String> lines(CapturedOutput output, String text) {
		return output.toString().lines().filter((line) -> line.contains(text)).toList();
	}

}
