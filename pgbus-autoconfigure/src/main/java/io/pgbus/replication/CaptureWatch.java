package io.pgbus.replication;

import java.util.List;

import io.pgbus.PgBusException;
import io.pgbus.replication.CaptureReport.Gap;
import io.pgbus.replication.CaptureStatus.State;
import io.pgbus.store.CaptureCheckpoint;
import io.pgbus.store.CaptureStore;
import io.pgbus.store.TableListenerStore;
import io.pgbus.store.TableSubscription;
import org.jspecify.annotations.Nullable;
import org.postgresql.replication.LogSequenceNumber;

/**
 * Looks at the capture for those who look after the bus, and acts on it.
 *
 * @since 0.1.0
 */
public final class CaptureWatch {

	/** A fifth of what is kept at most. */
	private static final int NEARLY = 5;

	private final Capture capture;

	private final Slot slot;

	private final CaptureStore store;

	private final TableListenerStore listeners;

	/**
	 * Creates the watch.
	 * @param capture the capture of this instance
	 * @param slot the slot
	 * @param store how far the capture is
	 * @param listeners which groups listen to which tables
	 */
	public CaptureWatch(Capture capture, Slot slot, CaptureStore store, TableListenerStore listeners) {
		this.capture = capture;
		this.slot = slot;
		this.store = store;
		this.listeners = listeners;
	}

	/**
	 * Returns what the capture of this instance does, without asking the database.
	 * @return the status
	 */
	public CaptureStatus status() {
		return this.capture.status();
	}

	/**
	 * Takes a look, by some small queries.
	 * @return what there is to see
	 */
	public CaptureReport look() {
		CaptureCheckpoint checkpoint = this.store.read();
		List<Gap> gaps = this.store.gaps()
			.stream()
			.map((gap) -> new Gap(gap.foundAt(), gap.reason(), text(gap.from()), text(gap.to())))
			.toList();
		return new CaptureReport(this.capture.status(), this.slot.status(),
				(checkpoint != null) ? checkpoint.holder() : null,
				(checkpoint != null) ? text(checkpoint.position().commit()) : null,
				(checkpoint != null) ? checkpoint.changedAt() : null, gaps, this.listeners.subscriptions());
	}

	private static @Nullable String text(@Nullable Long lsn) {
		return (lsn != null) ? LogSequenceNumber.valueOf(lsn).asString() : null;
	}

	/**
	 * Looks for what will become trouble if nobody does anything, by some small queries.
	 * @return what it is and what to do, or {@code null}
	 */
	public @Nullable String warning() {
		SlotStatus found = this.slot.status();
		if (found == null) {
			return null;
		}
		Long safe = found.safeBytes();
		if (safe != null && safe < (safe + found.retainedBytes()) / NEARLY) {
			return "The replication slot " + found.name() + " will be lost, and changes missed, when " + safe
					+ " more bytes of write-ahead log have been written: see why the capture is behind, or raise "
					+ "max_slot_wal_keep_size.";
		}
		if (!found.isActive() && this.listeners.subscriptions().isEmpty()) {
			return "No group listens to a table, but the replication slot " + found.name() + " retains "
					+ found.retainedBytes() + " bytes of write-ahead log, and more and more. Drop it through the "
					+ "endpoint, or by select pg_drop_replication_slot('" + found.name() + "').";
		}
		return null;
	}

	/**
	 * Goes on behind a gap.
	 * @throws PgBusException if this instance's capture has not stopped at one
	 */
	public void resume() {
		if (!this.capture.resume()) {
			State state = this.capture.status().state();
			throw new PgBusException("The capture of this instance is " + state
					+ ", so there is nothing to resume. Ask an instance whose capture is GAP.");
		}
	}

	/**
	 * Drops the slot, if no group listens to a table. The next one that does gets a new
	 * slot.
	 * @return whether there was one
	 * @throws PgBusException if a group listens to a table, or the slot cannot be dropped
	 */
	public boolean dropSlot() {
		List<String> tables = this.listeners.subscriptions()
			.stream()
			.map(TableSubscription::qualifiedName)
			.distinct()
			.toList();
		if (!tables.isEmpty()) {
			throw new PgBusException("Groups listen to the tables " + tables
					+ ", and would miss changes without the slot. Delete the groups first.");
		}
		this.capture.close();
		boolean dropped = this.capture.dropSlot();
		this.store.forget();
		return dropped;
	}

}
