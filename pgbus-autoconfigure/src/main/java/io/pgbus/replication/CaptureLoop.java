package io.pgbus.replication;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import io.pgbus.PgBusException;
import io.pgbus.replication.CaptureStatus.State;
import io.pgbus.store.CaptureStore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.util.backoff.BackOffExecution;
import org.springframework.util.backoff.ExponentialBackOff;

/**
 * What the thread of a {@link Capture} does: turn after turn, until it is stopped.
 */
final class CaptureLoop implements Runnable {

	private static final Logger logger = LoggerFactory.getLogger(CaptureLoop.class);

	private static final String REMEDY = "To go on with what is committed from now on, resume the capture through the "
			+ "endpoint, or set pgbus.capture.on-gap=resume; then read again the tables whose changes matter.";

	private final ReplicationConnectionFactory connections;

	private final CaptureSettings settings;

	private final CaptureState state;

	private final CaptureStore store;

	private final CountDownLatch stop = new CountDownLatch(1);

	private final Object monitor = new Object();

	private final Function<CountDownLatch, CaptureTurn> turns;

	private volatile CaptureTurn turn;

	/** Guarded by the monitor. */
	private boolean resumes;

	/** What was taken of that by a turn that did not come to it. */
	private boolean resumesLater;

	private @Nullable CaptureGapException lastGap;

	private @Nullable BackOffExecution backOff;

	CaptureLoop(ReplicationConnectionFactory connections, CaptureSettings settings, CaptureState state,
			CaptureStore store, Function<CountDownLatch, CaptureTurn> turns) {
		this.connections = connections;
		this.settings = settings;
		this.state = state;
		this.store = store;
		this.turns = turns;
		this.turn = turns.apply(this.stop);
	}

	@Override
	public void run() {
		while (this.stop.getCount() > 0) {
			long pause;
			boolean resume = takeResume() || this.resumesLater;
			try {
				this.turn = this.turns.apply(this.stop);
				this.turn.run(this.connections, this.lastGap, resume);
				this.resumesLater = false;
				pause = this.settings.standbyInterval().toMillis();
				this.backOff = null;
			}
			catch (CaptureGapException ex) {
				pause = this.settings.standbyInterval().toMillis();
				gap(ex);
			}
			catch (InterruptedException ex) {
				return;
			}
			catch (Throwable ex) {
				this.resumesLater = resume && !this.state.is(State.CAPTURING);
				pause = failed(ex);
			}
			pause(pause);
		}
	}

	private void gap(CaptureGapException gap) {
		this.lastGap = gap;
		if (this.settings.onGap() == GapPolicy.RESUME) {
			logger.warn("Changes of tables were missed, and the capture goes on without them. {}", gap.reason());
			resumeNext();
			return;
		}
		if (this.state.gap(gap.reason(), REMEDY)) {
			try {
				this.store.recordGap(gap.seen(), gap.reason());
			}
			catch (RuntimeException ex) {
				logger.warn("The gap could not be recorded", ex);
			}
		}
	}

	/** Returns how long to wait. */
	private long failed(Throwable ex) {
		if (this.stop.getCount() == 0) {
			return 0;
		}
		boolean captured = this.state.is(State.CAPTURING);
		String message = (ex instanceof PgBusException) ? null : "It is tried again by itself.";
		this.state.failing(String.valueOf(ex.getMessage()), message, ex);
		BackOffExecution current = this.backOff;
		if (current == null || captured) {
			ExponentialBackOff times = new ExponentialBackOff(100, 2);
			times.setMaxInterval(10_000);
			current = times.start();
			this.backOff = current;
		}
		return current.nextBackOff();
	}

	private void pause(long millis) {
		long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
		synchronized (this.monitor) {
			try {
				for (long left = millis; left > 0 && this.stop.getCount() > 0
						&& !this.resumes; left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())) {
					this.monitor.wait(left);
				}
			}
			catch (InterruptedException ex) {
				// only a sign to look whether to stop
				logger.trace("Interrupted", ex);
			}
		}
	}

	private boolean takeResume() {
		synchronized (this.monitor) {
			boolean taken = this.resumes;
			this.resumes = false;
			return taken;
		}
	}

	private void resumeNext() {
		synchronized (this.monitor) {
			this.resumes = true;
			this.monitor.notifyAll();
		}
	}

	/** Lets the next turn go on behind a gap. */
	boolean resume() {
		resumeNext();
		return true;
	}

	CaptureProgress progress() {
		return this.turn.progress();
	}

	/** Lets the thread end, and does not wait for it. */
	void stop() {
		this.stop.countDown();
		this.turn.cancel();
		synchronized (this.monitor) {
			this.monitor.notifyAll();
		}
	}

	void abort() {
		this.turn.abort();
	}

}
