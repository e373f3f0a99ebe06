package io.pgbus.listener;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

import io.pgbus.listener.ListenerMetrics.WakeUpCause;

/**
 * What the idle workers of a container wait for.
 * <p>
 * Work that one worker can do is done by one: what comes while it is at it, it finds when
 * it looks again, and reads more at a time. So a signal wakes a worker if none is up. If
 * one is, another comes when none has looked for a while, as handlers may be slow, or at
 * once where there is more than one read, or handling takes long. It brings the next in
 * the same way, so that as many come as there is work for.
 * <p>
 * <b>Invariant.</b> After every signal a worker begins to look: one that is up and looks
 * again, one that comes as none does so soon, or one that is woken, also by the last that
 * came to rest without having looked since. What a worker looks for may be taken away
 * from it, so finding nothing is no answer to what another has said meanwhile.
 * <p>
 * A signal may be early: it says that an event was committed, but the snapshot of a claim
 * may not show it yet. So when nothing is found after a publication, workers look again a
 * few times before they leave it to polling.
 */
final class WorkSignal {

	private static final int[] LOOK_AGAIN_AFTER_MILLIS = { 10, 50, 250 };

	/** Longer than it takes to claim, handle and save some events. */
	private static final Duration HELP_AFTER = Duration.ofMillis(5);

	private final ReentrantLock lock = new ReentrantLock();

	private final Condition changed = this.lock.newCondition();

	private final int workers;

	private final long helpAfterNanos;

	private final Consumer<WakeUpCause> counter;

	/** Whether there may be rows of backfills. */
	private final AtomicBoolean backfills = new AtomicBoolean();

	/** How many workers wait, and how many of them are to come now. */
	private int waiting;

	private int wanted;

	/** How many are up. */
	private int up;

	/**
	 * When a worker last got up or began to look, and whether something was said since.
	 */
	private long lookedAt;

	private boolean news;

	/** Whether another worker is to come if none looks for long. */
	private boolean helpIsWanted;

	private int looks = LOOK_AGAIN_AFTER_MILLIS.length;

	WorkSignal(int workers, Consumer<WakeUpCause> counter) {
		this(workers, HELP_AFTER, counter);
	}

	WorkSignal(int workers, Duration helpAfter, Consumer<WakeUpCause> counter) {
		this.workers = workers;
		this.helpAfterNanos = helpAfter.toNanos();
		this.counter = counter;
	}

	/** There may be work. */
	void wakeOne() {
		locked(this::wake);
	}

	/** There may be work, as somebody says. */
	void wakeOne(WakeUpCause cause) {
		this.counter.accept(cause);
		wakeOne();
	}

	/** An event was published, as somebody says. */
	void published(WakeUpCause cause) {
		this.counter.accept(cause);
		locked(() -> {
			this.looks = 0;
			wake();
		});
	}

	private void wake() {
		this.news = true;
		if (this.up > 0) {
			wantHelp();
		}
		else {
			want(1);
		}
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

	/** Everyone shall look at what the container is up to. */
	void wakeAll() {
		locked(() -> want(this.workers));
	}

	/** A worker is up without having waited here. */
	void begins() {
		locked(this::begin);
	}

	private void begin() {
		this.up++;
		this.lookedAt = System.nanoTime();
	}

	/** A worker looks for work, and will see what there was to see until now. */
	void looks() {
		locked(() -> {
			this.news = false;
			this.helpIsWanted = false;
			this.lookedAt = System.nanoTime();
		});
	}

	/**
	 * A worker found work.
	 * @param isMore whether there is more for certain, or for another; there may be more
	 * anyway
	 */
	void found(boolean isMore) {
		locked(() -> {
			if (!this.news) {
				this.looks = LOOK_AGAIN_AFTER_MILLIS.length;
			}
			if (isMore && this.waiting > 0) {
				want(1);
			}
			wantHelp();
		});
	}

	/** A worker found nothing any more, or could not look. */
	void ends() {
		locked(() -> {
			this.up--;
			if (this.up == 0 && this.news) {
				want(1);
			}
		});
	}

	private void want(int count) {
		this.wanted = Math.max(this.wanted, count);
		for (int i = 0; i < count; i++) {
			this.changed.signal();
		}
	}

	/** One of those that wait keeps the time. */
	private void wantHelp() {
		if (!this.helpIsWanted) {
			this.helpIsWanted = true;
			this.changed.signal();
		}
	}

	/**
	 * Waits for a signal, or for the time to look again. The worker is up then.
	 * @param maxNanos the longest time to wait
	 */
	void await(long maxNanos) throws InterruptedException {
		if (!isCalledWithin(maxNanos)) {
			this.counter.accept(WakeUpCause.LOOK_AGAIN);
		}
	}

	/**
	 * Returns whether it was called, or that time is over; not if it is to look again.
	 */
	private boolean isCalledWithin(long maxNanos) throws InterruptedException {
		this.lock.lockInterruptibly();
		this.waiting++;
		try {
			boolean looksAgain = this.looks < LOOK_AGAIN_AFTER_MILLIS.length;
			long nanos = looksAgain ? TimeUnit.MILLISECONDS.toNanos(LOOK_AGAIN_AFTER_MILLIS[this.looks++]) : maxNanos;
			boolean called = awaitCall(nanos);
			begin();
			return called || !looksAgain;
		}
		finally {
			this.waiting--;
			if (this.helpIsWanted || this.wanted > 0) {
				this.changed.signal();
			}
			this.lock.unlock();
		}
	}

	private boolean awaitCall(long nanos) throws InterruptedException {
		long start = System.nanoTime();
		while (true) {
			long now = System.nanoTime();
			if (this.wanted > 0) {
				this.wanted--;
				return true;
			}
			long untilHelp = this.lookedAt + this.helpAfterNanos - now;
			if (this.helpIsWanted && untilHelp <= 0) {
				this.helpIsWanted = false;
				return true;
			}
			long left = start + nanos - now;
			if (left <= 0) {
				return false;
			}
			this.changed.awaitNanos(this.helpIsWanted ? Math.min(left, untilHelp) : left);
		}
	}

	private void locked(Runnable change) {
		this.lock.lock();
		try {
			change.run();
		}
		finally {
			this.lock.unlock();
		}
	}

}
