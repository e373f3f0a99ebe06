package io.pgbus.test;

import java.time.Duration;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.Event;
import io.pgbus.EventPublisher;
import io.pgbus.GroupInfo;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.data.jpa.autoconfigure.DataJpaRepositoriesAutoConfiguration;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * What users' tests are offered, used as they use it.
 */
@SpringBootTest(webEnvironment = WebEnvironment.NONE,
		properties = { "pgbus.listener.retry.back-off=1ms", "pgbus.listener.retry.attempts=3" })
@AutoConfigurePgBusTester
@DirtiesContext
class PgBusTesterIntegrationTests {

	private static final TestDatabase database = TestDatabase.create();

	@Autowired
	private PgBusTester tester;

	@Autowired
	private EventPublisher publisher;

	@Autowired
	private ConsumerGroupOperations groups;

	@Autowired
	private PgListenerContainerRegistry registry;

	@Autowired
	private TransactionTemplate transaction;

	@Autowired
	private Numbers numbers;

	@DynamicPropertySource
	static void connect(DynamicPropertyRegistry properties) {
		properties.add("spring.datasource.url", database::jdbcUrl);
		properties.add("spring.datasource.username", database::username);
		properties.add("spring.datasource.password", database::password);
	}

	@AfterAll
	static void dropDatabase() {
		database.close();
	}

	@BeforeEach
	void forget() {
		this.numbers.gate.countDown();
		this.tester.awaitHandled();
		this.numbers.handled.clear();
		this.numbers.attempted.clear();
	}

	@Test
	void whatIsPublishedIsHandledAfterTheWaitAndSoIsWhatHandlersPublish() {
		for (int i = 1; i <= 50; i++) {
			this.publisher.publish("halves", "k" + i % 5, i);
		}
		this.tester.awaitHandled();
		// 25 + 12 + 6 + 3 + 1 are halves of even numbers
		assertThat(this.numbers.handled).hasSize(50 + 25 + 12 + 6 + 3 + 1);
	}

	@Test
	void eventsThatAreRetriedAreWaitedForAndDeadOnesAreNot() {
		this.publisher.publish("halves", "k", Numbers.FAILS_ONCE);
		this.publisher.publish("halves", "k", Numbers.FAILS);
		this.tester.awaitHandled();
		assertThat(this.numbers.handled).containsExactly(Numbers.FAILS_ONCE);
		assertThat(this.numbers.attempted).containsOnly(Numbers.FAILS_ONCE, Numbers.FAILS).hasSize(2 + 3);
	}

	@Test
	void aWaitThatIsTooShortSaysWhatIsStillToDo() {
		this.numbers.gate = new CountDownLatch(1);
		this.publisher.publish("halves", "k", 1);
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> this.tester.awaitHandled(Duration.ofMillis(200)))
			.withMessageContaining("numbers: partition ")
			.withMessageContaining("of halves")
			.withMessageContaining("after PT0.2S");
		this.numbers.gate.countDown();
		this.tester.awaitHandled();
		assertThat(this.numbers.handled).containsExactly(1);
	}

	@Test
	void groupsThatNobodyListensForOrThatArePausedAreNotWaitedFor() {
		this.registry.find("numbers").stop();
		this.publisher.publish("halves", "k", 1);
		this.tester.awaitHandled();
		assertThat(this.numbers.handled).isEmpty();
		this.groups.pauseGroup("numbers");
		this.registry.find("numbers").start();
		this.tester.awaitHandled();
		assertThat(this.numbers.handled).isEmpty();
		this.groups.resumeGroup("numbers");
		this.tester.awaitHandled();
		assertThat(this.numbers.handled).containsExactly(1);
	}

	@Test
	void whatIsCommittedWhileItCapturesIsCaptured() {
		this.publisher.publish("letters", "k", "before");
		try (CapturedEvents captured = this.tester.capture("letters", "more letters")) {
			assertThat(captured.events()).isEmpty();
			this.publisher.publish("letters", "k", "a");
			this.transaction.executeWithoutResult((status) -> {
				this.publisher.publish("letters", "k", "rolled back");
				status.setRollbackOnly();
			});
			this.publisher.publish("letters", "k", "b");
			this.publisher.publish("more letters", "k", "c");
			this.publisher.publish("other letters", "k", "d");
			this.tester.awaitHandled();
			assertThat(captured.events()).extracting(Event::payload).containsExactlyInAnyOrder("a", "b", "c");
			assertThat(captured.events()).filteredOn((event) -> event.stream().equals("letters"))
				.extracting(Event::payload)
				.containsExactly("a", "b");
			assertThat(captured.await(3)).isEqualTo(captured.events());
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> captured.await(4, Duration.ofMillis(1)))
				.withMessageContaining("Only 3 of 4 events were captured");
		}
	}

	@Test
	void payloadsAreCapturedAsJson() {
		try (CapturedEvents captured = this.tester.capture("halves")) {
			this.publisher.publish("halves", "k", 7);
			this.publisher.publish("halves", "k", new Point(1, 2));
			Event<String> point = captured.await(2).get(1);
			assertThat(captured.events().get(0).payload()).isEqualTo("7");
			assertThat(point.payload()).isEqualTo("{\"x\": 1, \"y\": 2}");
			assertThat(point.type()).isEqualTo("Point");
		}
	}

	@Test
	void aClosedCaptureHasWhatItCapturedAndLeavesNothingBehind() {
		CapturedEvents captured = this.tester.capture("letters");
		assertThat(capturing()).hasSize(1);
		this.publisher.publish("letters", "k", "a");
		captured.await(1);
		captured.close();
		captured.close();
		this.publisher.publish("letters", "k", "b");
		this.tester.awaitHandled();
		assertThat(captured.events()).extracting(Event::payload).containsExactly("a");
		assertThat(capturing()).isEmpty();
		assertThat(this.registry.containers()).hasSize(1);
	}

	@Test
	void listenersNeedNotRunToCaptureAndWhatStillCapturesIsClosedWithTheApplication() {
		CapturedEvents captured;
		try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class, Tested.class)
			.web(WebApplicationType.NONE)
			.properties(database.springProperties())
			.properties("pgbus.listener.auto-startup=false")
			.run()) {
			this.registry.find("numbers").stop();
			captured = context.getBean(PgBusTester.class).capture("halves");
			this.publisher.publish("halves", "k", 1);
			context.getBean(PgBusTester.class).awaitHandled();
			assertThat(captured.events()).hasSize(1);
			assertThat(context.getBean(Numbers.class).attempted).isEmpty();
			assertThat(capturing()).hasSize(1);
		}
		finally {
			this.registry.find("numbers").start();
		}
		assertThat(capturing()).isEmpty();
	}

	private Set<String> capturing() {
		return Set.copyOf(this.groups.groups()
			.stream()
			.map(GroupInfo::name)
			.filter((name) -> name.startsWith("pgbus-tester-"))
			.toList());
	}

	@SpringBootConfiguration(proxyBeanMethods = false)
	@EnableAutoConfiguration(
			exclude = { HibernateJpaAutoConfiguration.class, DataJpaRepositoriesAutoConfiguration.class })
	@Import(Numbers.class)
	static class Application {

	}

	@AutoConfigurePgBusTester
	static class Tested {

	}

	record Point(int x, int y) {

	}

	static class Numbers {

		static final int FAILS_ONCE = -1;

		static final int FAILS = -3;

		final Queue<Integer> handled = new ConcurrentLinkedQueue<>();

		final Queue<Integer> attempted = new ConcurrentLinkedQueue<>();

		private final Set<Integer> failed = ConcurrentHashMap.newKeySet();

		private final EventPublisher publisher;

		volatile CountDownLatch gate = new CountDownLatch(0);

		Numbers(EventPublisher publisher) {
			this.publisher = publisher;
		}

		@PgEventListener(streams = "halves", group = "numbers", types = "Integer")
		void handle(Integer number) throws InterruptedException {
			this.gate.await();
			this.attempted.add(number);
			if (number == FAILS || (number == FAILS_ONCE && this.failed.add(number))) {
				throw new IllegalStateException(number + " fails on purpose");
			}
			if (number % 2 == 0) {
				this.publisher.publish("halves", "k" + number, number / 2);
			}
			this.handled.add(number);
		}

	}

}
