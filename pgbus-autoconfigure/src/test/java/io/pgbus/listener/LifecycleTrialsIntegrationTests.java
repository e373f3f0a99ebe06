package io.pgbus.listener;

import java.time.Duration;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.RetryPolicy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Work and retries that meet a stop, a pause, a restart or another instance.
 */
class LifecycleTrialsIntegrationTests {

	/** The second attempt is when the test says so. */
	private static final RetryPolicy LATER = new RetryPolicy(3, Duration.ofHours(1), 1, Duration.ofHours(1), 0,
			Set.of(), RetryPolicy.OnDead.CONTINUE);

	private final TestBus bus = new TestBus();

	private final Queue<String> attempts = new ConcurrentLinkedQueue<>();

	@AfterEach
	void close() {
		this.bus.close();
	}

	@Test
	void aStopWaitsForWorkThatIsFinishedElsewhereWhichIsThenDone() {
		CompletableFuture<Void> work = new CompletableFuture<>();
		TestBus.Instance instance = this.bus.instance();
		PgListenerContainer container = instance.registry
			.register(PgListenerEndpoint.id("l").streams("s").asynchronous(true).handler(Integer.class, (events) -> {
				this.attempts.add(events.get(0).payload() + "/" + events.get(0).attempt());
				return work;
			}));
		instance.publisher.publish("s", "k", 1);
		await().until(() -> this.attempts.size() == 1);
		CompletableFuture<Void> stop = CompletableFuture.runAsync(container::stop);
		await().until(() -> container.state() == PgListenerContainer.State.STOPPING);
		// it would have been in this time, if it did not wait
		instance.publisher.publish("s", "k", 2);
		this.bus.jdbc.sql("select pg_sleep(0.5)").query().listOfRows();
		assertThat(stop).isNotDone();
		work.complete(null);
		assertThat(stop).succeedsWithin(Duration.ofSeconds(30));
		assertThat(container.state()).isEqualTo(PgListenerContainer.State.STOPPED);
		assertThat(this.attempts).containsExactly("1/1");
		container.start();
		await().until(() -> this.attempts.size() == 2);
		instance.registry.stop();
		assertThat(this.attempts).containsExactly("1/1", "2/1");
	}

	@Test
	void workThatFailsElsewhereDuringAStopIsRecordedAndTriedAgainAfterTheStart() {
		CompletableFuture<Void> work = new CompletableFuture<>();
		TestBus.Instance instance = this.bus.instance();
		PgListenerContainer container = instance.registry
			.register(PgListenerEndpoint.id("l").streams("s").asynchronous(true).handler(Integer.class, (events) -> {
				this.attempts.add(events.get(0).payload() + "/" + events.get(0).attempt());
				return (events.get(0).attempt() == 1) ? work : null;
			}));
		instance.publisher.publish("s", "k", 1);
		await().until(() -> this.attempts.size() == 1);
		CompletableFuture<Void> stop = CompletableFuture.runAsync(container::stop);
		await().until(() -> container.state() == PgListenerContainer.State.STOPPING);
		work.completeExceptionally(new IllegalStateException("elsewhere"));
		assertThat(stop).succeedsWithin(Duration.ofSeconds(30));
		assertThat(this.bus.failedEvents()).singleElement()
			.satisfies((row) -> assertThat(row).containsEntry("attempts", 1)
				.containsEntry("error_type", "java.lang.IllegalStateException"));
		container.start();
		await().untilAsserted(() -> assertThat(this.attempts).containsExactly("1/1", "1/2"));
		await().untilAsserted(() -> assertThat(this.bus.failedEvents()).isEmpty());
	}

	@ParameterizedTest
	@EnumSource
	void aPauseDuringARetryLetsItFinishAndNoOtherBeginUntilTheEndOfThePause(DeliveryMode mode) {
		CountDownLatch inRetry = new CountDownLatch(1);
		CountDownLatch end = new CountDownLatch(1);
		TestBus.Instance instance = this.bus.instance();
		PgListenerContainer container = instance.registry.register(endpoint(mode, TestBus.FAST, (event) -> {
			if (event.payload() == 1 && event.attempt() == 2) {
				inRetry.countDown();
				awaitLatch(end);
			}
			if (event.payload() == 1 && event.attempt() < 3) {
				throw new IllegalStateException("not yet");
			}
		}));
		instance.publisher.publish("s", "k", 1);
		awaitLatch(inRetry);
		container.pause();
		instance.publisher.publish("s", "k", 2);
		end.countDown();
		await().untilAsserted(() -> assertThat(this.bus.failedEvents()).singleElement()
			.satisfies((row) -> assertThat(row).containsEntry("attempts", 2)));
		await().untilAsserted(() -> assertThat(heldCursors()).isZero());
		this.bus.jdbc.sql("select pg_sleep(0.5)").query().listOfRows();
		assertThat(container.state()).isEqualTo(PgListenerContainer.State.PAUSED);
		assertThat(this.attempts).containsExactly("1/1", "1/2");
		container.resume();
		await().untilAsserted(() -> assertThat(this.attempts).containsExactly("1/1", "1/2", "1/3", "2/1"));
	}

	@ParameterizedTest
	@EnumSource
	void retriesKeepTheirStateOverARestart(DeliveryMode mode) {
		Consumer<Event<Integer>> handler = (event) -> {
			throw new IllegalStateException("attempt " + event.attempt());
		};
		Object firstFailedAt = null;
		for (int attempt = 1; attempt <= 3; attempt++) {
			TestBus.Instance instance = this.bus.instance();
			instance.registry.register(endpoint(mode, LATER, handler));
			if (attempt == 1) {
				instance.publisher.publish("s", "k", 1);
			}
			else {
				this.bus.jdbc.sql("update pgbus.failed_event set next_attempt_at = clock_timestamp()").update();
			}
			int expected = attempt;
			await().untilAsserted(() -> assertThat(this.bus.failedEvents()).singleElement()
				.satisfies((row) -> assertThat(row).containsEntry("attempts", expected)
					.containsEntry("error_message", "attempt " + expected)));
			instance.registry.stop();
			firstFailedAt = (attempt == 1) ? this.bus.failedEvents().get(0).get("first_failed_at") : firstFailedAt;
		}
		assertThat(this.attempts).containsExactly("1/1", "1/2", "1/3");
		assertThat(this.bus.failedEvents().get(0)).containsEntry("state", "dead")
			.containsEntry("first_failed_at", firstFailedAt);
		assertThat(this.bus.dead).hasSize(1);
	}

	@ParameterizedTest
	@EnumSource
	void whatAnotherInstanceIsStillTryingAgainCannotBeTriedAtTheSameTime(DeliveryMode mode) {
		CountDownLatch inRetry = new CountDownLatch(1);
		CountDownLatch end = new CountDownLatch(1);
		TestBus.Instance one = this.bus.instance();
		one.registry.register(endpoint(mode, LATER, (event) -> {
			if (event.payload() == 1 && event.attempt() == 1) {
				throw new IllegalStateException("not yet");
			}
			inRetry.countDown();
			awaitLatch(end);
		}));
		one.publisher.publish("s", "k", 1);
		await().until(() -> this.bus.failedEvents().size() == 1);
		tryAgainNow();
		awaitLatch(inRetry);
		TestBus.Instance other = this.bus.instance();
		Queue<String> others = new ConcurrentLinkedQueue<>();
		other.registry.register(PgListenerEndpoint.id("other")
			.group("l")
			.streams("s")
			.delivery(mode)
			.onEvent(Integer.class, (event) -> others.add(event.payload() + "/" + event.attempt())));
		// as an operator would; where the handler's transaction has it, that waits
		CompletableFuture<Void> replay = CompletableFuture.runAsync(this::tryAgainNow);
		for (int n = 2; n < 30; n++) {
			other.publisher.publish("s", "k" + n, n);
		}
		// the other is at work, on what is elsewhere
		await().until(() -> others.size() > 10);
		this.bus.jdbc.sql("select pg_sleep(0.5)").query().listOfRows();
		assertThat(others).doesNotContain("1/1", "1/2");
		end.countDown();
		assertThat(replay).succeedsWithin(Duration.ofSeconds(30));
		await().untilAsserted(() -> assertThat(this.attempts.size() + others.size()).isEqualTo(2 + 28));
		await().untilAsserted(() -> assertThat(this.bus.failedEvents()).isEmpty());
		assertThat(this.attempts).contains("1/1", "1/2");
	}

	private PgListenerEndpoint endpoint(DeliveryMode mode, RetryPolicy retry, Consumer<Event<Integer>> handler) {
		return PgListenerEndpoint.id("l").streams("s").delivery(mode).retry(retry).onEvent(Integer.class, (event) -> {
			this.attempts.add(event.payload() + "/" + event.attempt());
			handler.accept(event);
		});
	}

	private void tryAgainNow() {
		this.bus.jdbc.sql("update pgbus.failed_event set next_attempt_at = clock_timestamp()").update();
	}

	private long heldCursors() {
		return this.bus.jdbc.sql("select count(*) from pgbus.cursor_state where owner is not null")
			.query(Long.class)
			.single();
	}

	private static void awaitLatch(CountDownLatch latch) {
		try {
			assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
