package io.pgbus.replication;

import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;

import org.jspecify.annotations.Nullable;

/**
 * How far one turn of capturing is, for those who look on. The thread that reads and the
 * one that appends write a part each.
 */
final class CaptureProgress {

	private volatile long received;

	private volatile long confirmed;

	private final AtomicLong changes = new AtomicLong();

	private final AtomicLong events = new AtomicLong();

	private volatile @Nullable Instant lastCommitAt;

	private volatile @Nullable SlotStatus slotStatus;

	void received(long lsn) {
		this.received = lsn;
	}

	void confirmed(long lsn) {
		this.confirmed = lsn;
	}

	void appended(ChangeBatch batch, int events) {
		this.changes.addAndGet(batch.changes().size());
		this.events.addAndGet(events);
		this.lastCommitAt = batch.changes().get(batch.changes().size() - 1).committedAt();
	}

	void slotStatus(SlotStatus status) {
		this.slotStatus = status;
	}

	long confirmed() {
		return this.confirmed;
	}

	CaptureStatus status(CaptureState.Phase phase, String slot) {
		return new CaptureStatus(phase.state(), phase.since(), slot, phase.failure(), phase.remedy(), this.received,
				this.confirmed, this.changes.get(), this.events.get(), this.lastCommitAt, this.slotStatus);
	}

}
