package io.pgbus.store;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Does something now and then, in a daemon thread of its own, the first time after one
 * interval, until it is closed.
 *
 * @since 0.1.0
 */
public final class Rounds implements AutoCloseable {

	private static final Logger logger = LoggerFactory.getLogger(Rounds.class);

	private static final long STOP_MILLIS = 10_000;

	private final String threadName;

	private final Duration interval;

	private final Runnable round;

	private final Runnable end;

	private volatile @Nullable CountDownLatch stop;

	private @Nullable Thread thread;

	/**
	 * Creates the rounds, which are not started yet.
	 * @param threadName the name of the thread
	 * @param interval the time between two rounds
	 * @param round what to do; must not throw
	 * @param end what to do in the thread after the last round; must not throw
	 */
	public Rounds(String threadName, Duration interval, Runnable round, Runnable end) {
		this.threadName = threadName;
		this.interval = interval;
		this.round = round;
		this.end = end;
	}

	/**
	 * Starts the rounds. Does nothing if they have started.
	 */
	public synchronized void start() {
		if (this.thread == null) {
			CountDownLatch latch = new CountDownLatch(1);
			Thread started = new Thread(() -> run(latch), this.threadName);
			started.setDaemon(true);
			this.stop = latch;
			this.thread = started;
			started.start();
		}
	}

	private void run(CountDownLatch latch) {
		try {
			while (!latch.await(this.interval.toMillis(), TimeUnit.MILLISECONDS)) {
				this.round.run();
			}
			this.end.run();
		}
		catch (InterruptedException ex) {
			logger.debug("{} was interrupted", this.threadName, ex);
		}
	}

	/**
	 * Tells whether the rounds are to end.
	 * @return whether they were closed
	 */
	public boolean isClosing() {
		CountDownLatch latch = this.stop;
		return latch != null && latch.getCount() == 0;
	}

	/**
	 * Ends the rounds, and waits for one that is under way.
	 */
	@Override
	public synchronized void close() {
		CountDownLatch latch = this.stop;
		Thread started = this.thread;
		if (started == null || latch == null) {
			return;
		}
		latch.countDown();
		try {
			started.join(STOP_MILLIS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		this.thread = null;
	}

}
