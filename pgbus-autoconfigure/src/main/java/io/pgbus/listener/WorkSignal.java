package io.pgbus.listener;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

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

	private final int workers;

	WorkSignal(int workers) {
		this.workers = workers;
	}

	/** There may be work. */
	void wakeOne() {
		if (this.permits.availablePermits() < this.workers) {
			this.permits.release();
		}
	}

	/** An event was published. */
	void published() {
		this.looks.set(0);
		wakeOne();
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

	/** Waits for a signal, or for the time to look again. */
	void await() throws InterruptedException {
		int look = this.looks.getAndUpdate((done) -> Math.min(done + 1, LOOK_AGAIN_AFTER_MILLIS.length));
		if (look < LOOK_AGAIN_AFTER_MILLIS.length) {
			this.permits.tryAcquire(LOOK_AGAIN_AFTER_MILLIS[look], TimeUnit.MILLISECONDS);
		}
		else {
			this.permits.acquire();
		}
	}

}
