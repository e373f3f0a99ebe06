package io.pgbus.listener;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import io.pgbus.listener.ListenerMetrics.WakeUpCause;

/**
 * What the idle workers of a container wait for. A signal wakes one worker; one that
 * finds work wakes the next, so that as many come as there is work for.
 * <p>
 * A signal may be early: it says that an event was committed, but the snapshot of a claim
 * may not show it yet. So when nothing is found after a publication, workers look again a
 * few times before they leave it to polling.
 */
final class WorkSignal {

	private static final int[] LOOK_AGAIN_AFTER_MILLIS = { 10, 50, 250 };

	private final Semaphore permits = new Semaphore(0);

	private final AtomicInteger looks = new AtomicInteger(LOOK_AGAIN_AFTER_MILLIS.length);

	/** Whether there may be rows of backfills. */
	private final AtomicBoolean backfills = new AtomicBoolean();

	private final int workers;

	private final Consumer<WakeUpCause> counter;

	WorkSignal(int workers, Consumer<WakeUpCause> counter) {
		this.workers = workers;
		this.counter = counter;
	}

	/** There may be work. */
	void wakeOne() {
		if (this.permits.availablePermits() < this.workers) {
			this.permits.release();
		}
	}

	/** There may be work, as somebody says. */
	void wakeOne(WakeUpCause cause) {
		this.counter.accept(cause);
		wakeOne();
	}

	/** An event was published, as somebody says. */
	void published(WakeUpCause cause) {
		this.looks.set(0);
		wakeOne(cause);
	}

	/** There may be rows of backfills, as somebody says. */
	void backfill(WakeUpCause cause) {
		this.backfills.set(true);
		wakeOne(cause);
	}

	/**
	 * There may be more rows of backfills: workers go on asking for them. They do not ask
	 * before each claim, which would cost every claim a round trip.
	 */
	void mayHaveBackfill() {
		this.backfills.set(true);
	}

	/**
	 * Tells whether a worker is to ask for rows of backfills, and takes that for done.
	 */
	boolean takesBackfill() {
		return this.backfills.get() && this.backfills.getAndSet(false);
	}

	/** A worker found work, and there may be more. */
	void found() {
		this.looks.set(LOOK_AGAIN_AFTER_MILLIS.length);
		wakeOne();
	}

	/** Everyone shall look at what the container is up to. */
	void wakeAll() {
		this.permits.release(this.workers);
	}

	/**
	 * Waits for a signal, or for the time to look again.
	 * @param maxNanos the longest time to wait
	 */
	void await(long maxNanos) throws InterruptedException {
		int look = this.looks.getAndUpdate((done) -> Math.min(done + 1, LOOK_AGAIN_AFTER_MILLIS.length));
		if (look < LOOK_AGAIN_AFTER_MILLIS.length) {
			if (!this.permits.tryAcquire(LOOK_AGAIN_AFTER_MILLIS[look], TimeUnit.MILLISECONDS)) {
				this.counter.accept(WakeUpCause.LOOK_AGAIN);
			}
		}
		else {
			this.permits.tryAcquire(maxNanos, TimeUnit.NANOSECONDS);
		}
	}

}
