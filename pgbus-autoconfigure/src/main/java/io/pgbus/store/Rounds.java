package io.pgbus.store;

import java.time.Duration;
import java.util.concurrent.Semaphore;
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

	private volatile @Nullable Signal signal;

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
			Signal fresh = new Signal();
			Thread started = new Thread(() -> run(fresh), this.threadName);
			started.setDaemon(true);
			this.signal = fresh;
			this.thread = started;
			started.start();
		}
	}

	/**
	 * Lets the next round begin at once. Does nothing if the rounds have not started.
	 */
	public void hurry() {
		Signal current = this.signal;
		if (current != null) {
			current.wakeUp.release();
		}
	}

	private void run(Signal current) {
		try {
			while (!current.isClosingAfter(this.interval)) {
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
		Signal current = this.signal;
		return current != null && current.closing;
	}

	/**
	 * Ends the rounds, and waits for one that is under way.
	 */
	@Override
	public synchronized void close() {
		Signal current = this.signal;
		Thread started = this.thread;
		if (started == null || current == null) {
			return;
		}
		current.closing = true;
		current.wakeUp.release();
		try {
			started.join(STOP_MILLIS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		this.thread = null;
	}

	/**
	 * What the thread of one start waits for.
	 */
	private static final class Signal {

		private final Semaphore wakeUp = new Semaphore(0);

		private volatile boolean closing;

		/** Waits for an interval, or for less if it is hurried or closed. */
		boolean isClosingAfter(Duration interval) throws InterruptedException {
			if (this.wakeUp.tryAcquire(interval.toMillis(), TimeUnit.MILLISECONDS)) {
				this.wakeUp.drainPermits();
			}
			return this.closing;
		}

	}

}
