package io.pgbus.replication;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;

import io.pgbus.store.CaptureCheckpoint;
import io.pgbus.store.CaptureStore;
import io.pgbus.store.CaptureStore.Appended;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Appends batches in a thread of its own, so that the one that reads can go on to answer
 * the server however long that takes. What the slot is told is saved before.
 */
final class ChangeAppender implements Runnable {

	private static final Logger logger = LoggerFactory.getLogger(ChangeAppender.class);

	private static final long POLL_MILLIS = 50;

	/** To save less than this much would be to write as much as it lets go. */
	static final long WORTH_CONFIRMING = 64 * 1024;

	/** One is appended, one waits, one is put together by who reads. */
	private final BlockingQueue<ChangeBatch> queue = new ArrayBlockingQueue<>(1);

	private final CaptureStore store;

	private final Slot slot;

	private final int pid;

	private final CaptureSettings settings;

	private final CaptureProgress progress;

	private final IntConsumer appended;

	private CaptureCheckpoint checkpoint;

	private long applied;

	private long confirmedAt = System.nanoTime();

	private long lookedAt = System.nanoTime() - Duration.ofDays(1).toNanos();

	private volatile boolean busy;

	private volatile boolean stopping;

	private volatile @Nullable Throwable failure;

	/**
	 * Creates an appender.
	 * @param store appends
	 * @param slot is looked at now and then
	 * @param pid the server process that streams
	 * @param settings the settings
	 * @param progress is told of what is appended
	 * @param appended is told the streams that have new events
	 * @param checkpoint where to go on
	 */
	ChangeAppender(CaptureStore store, Slot slot, int pid, CaptureSettings settings, CaptureProgress progress,
			IntConsumer appended, CaptureCheckpoint checkpoint) {
		this.store = store;
		this.slot = slot;
		this.pid = pid;
		this.settings = settings;
		this.progress = progress;
		this.appended = appended;
		this.checkpoint = checkpoint;
		this.applied = checkpoint.confirmedLsn();
		progress.confirmed(checkpoint.confirmedLsn());
	}

	@Override
	public void run() {
		try {
			while (!this.stopping) {
				ChangeBatch batch = this.queue.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
				if (batch != null) {
					append(batch);
				}
				this.busy = !this.queue.isEmpty();
				confirmIfDue();
				lookIfDue();
			}
		}
		catch (Throwable ex) {
			this.failure = ex;
		}
	}

	private void append(ChangeBatch batch) {
		if (!batch.changes().isEmpty()) {
			Appended result = this.store.append(this.checkpoint, batch.changes(), Objects.requireNonNull(batch.to()));
			this.checkpoint = result.checkpoint();
			this.progress.appended(batch, result.events());
			result.streamIds().forEach(this::tell);
		}
		if (Long.compareUnsigned(batch.read(), this.applied) > 0) {
			this.applied = batch.read();
		}
	}

	private void tell(int streamId) {
		try {
			this.appended.accept(streamId);
		}
		catch (RuntimeException ex) {
			logger.error("A wake-up could not be passed on", ex);
		}
	}

	private void confirmIfDue() {
		if (Long.compareUnsigned(this.applied, this.checkpoint.confirmedLsn()) > 0
				&& isDue(this.confirmedAt, this.settings.statusInterval())) {
			this.checkpoint = this.store.confirm(this.checkpoint, this.applied);
			this.progress.confirmed(this.checkpoint.confirmedLsn());
			this.confirmedAt = System.nanoTime();
		}
	}

	private void lookIfDue() {
		if (!isDue(this.lookedAt, this.settings.heartbeatInterval())) {
			return;
		}
		this.lookedAt = System.nanoTime();
		SlotStatus status = this.slot.status();
		if (status == null || !Objects.equals(status.activePid(), this.pid)) {
			// a connection may be half open for long before this side finds out
			throw new IllegalStateException("The server has ended the stream of changes");
		}
		this.progress.slotStatus(status);
		if (!this.busy && status.lagBytes() > WORTH_CONFIRMING) {
			this.slot.heartbeat();
		}
	}

	private static boolean isDue(long last, Duration interval) {
		return System.nanoTime() - last >= interval.toNanos();
	}

	/**
	 * Hands a batch over.
	 * @param batch the batch
	 * @return whether there was room for it within a short while
	 * @throws InterruptedException if interrupted
	 */
	boolean offer(ChangeBatch batch) throws InterruptedException {
		this.busy = true;
		return this.queue.offer(batch, POLL_MILLIS, TimeUnit.MILLISECONDS);
	}

	/** Whether a batch would wait. */
	boolean isBusy() {
		return this.busy;
	}

	@Nullable Throwable failure() {
		return this.failure;
	}

	/** Ends after the batch that is being appended. */
	void stop() {
		this.stopping = true;
	}

}
