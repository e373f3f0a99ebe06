package io.pgbus.listener;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.pgbus.listener.ListenerMetrics.WakeUpCause;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

/**
 * What workers are told.
 */
class WorkSignalTests {

	private static final Duration NEVER = Duration.ofHours(1);

	private final ExecutorService threads = Executors.newCachedThreadPool();

	/** How many workers have come. */
	private final AtomicInteger came = new AtomicInteger();

	/** How many have found nothing and wait again. */
	private final AtomicInteger ended = new AtomicInteger();

	/** Lets one of those that came look once more. */
	private final Semaphore looks = new Semaphore(0);

	/** Lets one that has found nothing come to rest. */
	private final Semaphore rests = new Semaphore(1000);

	private WorkSignal signal = new WorkSignal(2, (cause) -> {
	});

	@AfterEach
	void close() {
		this.threads.shutdownNow();
	}

	@Test
	void rowsOfBackfillsAreAskedForOnceEachTimeThatSomebodySaysThereAreSome() {
		assertThat(this.signal.takesBackfill()).isFalse();
		this.signal.backfill(WakeUpCause.POLL);
		assertThat(this.signal.takesBackfill()).isTrue();
		assertThat(this.signal.takesBackfill()).isFalse();
		this.signal.published(WakeUpCause.PUBLISH);
		assertThat(this.signal.takesBackfill()).isFalse();
		this.signal.mayHaveBackfill();
		assertThat(this.signal.takesBackfill()).isTrue();
	}

	@Test
	void whatComesWhileAWorkerIsUpIsLeftToIt() {
		start(NEVER, 2);
		this.signal.wakeOne();
		awaitCame(1);
		for (int i = 0; i < 3; i++) {
			this.signal.wakeOne();
			this.signal.found(false);
		}
		// it has looked since, so nobody need come when it is done
		this.looks.release();
		awaitEnded(1);
		this.signal.wakeOne();
		awaitCame(2);
		this.looks.release();
		awaitEnded(2);
		assertThat(this.came).hasValue(2);
	}

	@Test
	void anotherComesWhereTheFirstIsBusyForLong() {
		start(Duration.ofMillis(1), 2);
		this.signal.wakeOne();
		awaitCame(1);
		this.signal.wakeOne();
		awaitCame(2);
	}

	@Test
	void anotherComesAtOnceWhereThereIsMoreThanOneRead() {
		start(NEVER, 3);
		this.signal.wakeOne();
		awaitCame(1);
		this.signal.found(true);
		awaitCame(2);
		this.signal.found(false);
		assertThat(this.came).hasValue(2);
	}

	@Test
	void whoEndsAfterAnotherHasFoundMoreComesAgain() {
		this.signal = new WorkSignal(2, Duration.ofMillis(1), (cause) -> {
		});
		this.signal.begins();
		this.signal.begins();
		this.signal.looks();
		this.signal.found(true);
		this.signal.ends();
		this.threads.submit(() -> {
			this.signal.await(NEVER.toNanos());
			this.came.incrementAndGet();
			return null;
		});
		awaitCame(1);
	}

	@Test
	void whatIsSaidBetweenALastLookAndTheRestIsLookedAt() {
		this.rests.drainPermits();
		start(NEVER, 1);
		this.signal.wakeOne();
		awaitCame(1);
		this.looks.release();
		await().atMost(30, TimeUnit.SECONDS).until(this.rests::hasQueuedThreads);
		this.signal.wakeOne();
		this.rests.release();
		awaitCame(2);
	}

	private void start(Duration helpAfter, int workers) {
		this.signal = new WorkSignal(workers, helpAfter, (cause) -> {
		});
		for (int i = 0; i < workers; i++) {
			this.threads.submit(() -> {
				while (true) {
					this.signal.await(NEVER.toNanos());
					this.came.incrementAndGet();
					this.looks.acquire();
					this.signal.looks();
					this.rests.acquire();
					this.signal.ends();
					this.ended.incrementAndGet();
				}
			});
		}
	}

	private void awaitCame(int count) {
		await().atMost(30, TimeUnit.SECONDS).untilAtomic(this.came, equalTo(count));
	}

	private void awaitEnded(int count) {
		await().atMost(30, TimeUnit.SECONDS).untilAtomic(this.ended, equalTo(count));
	}

}
