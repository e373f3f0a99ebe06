package io.pgbus.benchmarks;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Waits as long as there is progress.
 */
final class Progress {

	/** Longer than any peer takes to look whether there is something to do. */
	private static final long PATIENCE_SECONDS = 30;

	private Progress() {
	}

	static void await(CountDownLatch done, LongSupplier progress, long goal) throws InterruptedException {
		long before = progress.getAsLong();
		while (!done.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
			long now = progress.getAsLong();
			if (now == before) {
				throw new IllegalStateException("Stuck at " + now + " of " + goal);
			}
			before = now;
		}
	}

}
