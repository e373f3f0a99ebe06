package io.pgbus.autoconfigure;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;

import io.pgbus.Event;
import io.pgbus.EventPublisher;
import io.pgbus.OutgoingEvent;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.jpa.autoconfigure.DataJpaRepositoriesAutoConfiguration;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A listener of single events whose worker handles several in one transaction.
 */
class EventsPerTransactionIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	@AfterEach
	void close() {
		this.database.close();
	}

	@Test
	void theListenerIsCalledWithEveryEventAndOnlyTheOneThatFailsIsRetried() {
		try (ConfigurableApplicationContext application = new SpringApplicationBuilder(Application.class)
			.web(WebApplicationType.NONE)
			.properties(this.database.springProperties())
			.properties("pgbus.listener.events-per-transaction=10", "pgbus.listener.retry.back-off=1ms")
			.run()) {
			Numbers numbers = application.getBean(Numbers.class);
			application.getBean(EventPublisher.class)
				.publishAll(IntStream.range(0, 30)
					.mapToObj((i) -> OutgoingEvent.to("numbers").key("k" + i).payload(i))
					.toList());
			await().untilAsserted(() -> assertThat(numbers.handled).containsAll(IntStream.range(0, 30).boxed().toList())
				.contains(107));
			assertThat(numbers.handled.stream().filter((number) -> number >= 100)).containsExactly(107);
		}
	}

	@SpringBootConfiguration(proxyBeanMethods = false)
	@EnableAutoConfiguration(
			exclude = { HibernateJpaAutoConfiguration.class, DataJpaRepositoriesAutoConfiguration.class })
	@Import(Numbers.class)
	static class Application {

	}

	static class Numbers {

		final List<Integer> handled = new CopyOnWriteArrayList<>();

		@PgEventListener(streams = "numbers", group = "numbers")
		void handle(Event<Integer> number) {
			this.handled.add((number.attempt() - 1) * 100 + number.payload());
			if (number.payload() == 7 && number.attempt() == 1) {
				throw new IllegalStateException("not yet");
			}
		}

	}

}
