package io.pgbus.replication;

import java.sql.SQLException;
import java.sql.SQLWarning;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntConsumer;

import io.pgbus.PgBusException;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.CaptureCheckpoint;
import io.pgbus.store.CaptureStore;
import io.pgbus.store.CaptureStore.Appended;
import io.pgbus.store.LostCaptureException;
import org.jspecify.annotations.Nullable;
import org.postgresql.replication.LogSequenceNumber;
import org.postgresql.replication.PGReplicationStream;

/**
 * One attempt to capture: looks whether another instance does, takes the slot and the
 * checkpoint, and reads and appends until it is stopped or fails.
 */
final class CaptureTurn {

	private static final String IN_USE = "55006";

	private static final String DUPLICATE = "42710";

	private static final String UNDEFINED = "42704";

	/** What is being appended is let come to its end this long. */
	private static final Duration LAST_APPEND = Duration.ofSeconds(5);

	private final CaptureStore store;

	private final CaptureSettings settings;

	private final Slot slot;

	private final String holder;

	private final IntConsumer appended;

	private final CaptureState state;

	private final CaptureProgress progress = new CaptureProgress();

	private final CountDownLatch stop;

	private volatile @Nullable ReplicationSession session;

	CaptureTurn(BusDatabase database, CaptureStore store, CaptureSettings settings, String holder, IntConsumer appended,
			CaptureState state, CountDownLatch stop) {
		this.store = store;
		this.settings = settings;
		this.slot = new Slot(database, settings);
		this.holder = holder;
		this.appended = appended;
		this.state = state;
		this.stop = stop;
	}

	CaptureProgress progress() {
		return this.progress;
	}

	/**
	 * Captures until it is stopped, or another instance does.
	 * @param connections opens the connection
	 * @param lastGap the gap that was found last
	 * @param resume whether to go on behind a gap
	 * @throws CaptureGapException if changes were missed, unless it is to go on
	 * @throws SQLException if the connection fails
	 * @throws InterruptedException if interrupted
	 */
	void run(ReplicationConnectionFactory connections, @Nullable CaptureGapException lastGap, boolean resume)
			throws SQLException, InterruptedException {
		try (ReplicationSession opened = ReplicationSession.open(connections, this.settings)) {
			this.session = opened;
			if (this.stop.getCount() == 0) {
				return;
			}
			checkPlace(opened);
			capture(opened, lastGap, resume);
		}
		catch (LostCaptureException ex) {
			this.state.standby();
		}
		catch (SQLException ex) {
			if (IN_USE.equals(ex.getSQLState())) {
				this.state.standby();
			}
			else if (DUPLICATE.equals(ex.getSQLState())) {
				this.state.starting();
			}
			else {
				throw ex;
			}
		}
		finally {
			this.session = null;
		}
	}

	private void checkPlace(ReplicationSession opened) {
		String place = this.slot.place();
		if (!place.equals(opened.place())) {
			throw new PgBusException("The capture of changes is connected to another database or server than the bus. "
					+ "Set pgbus.capture.url to the database of the bus.");
		}
	}

	private void capture(ReplicationSession opened, @Nullable CaptureGapException lastGap, boolean resume)
			throws SQLException, InterruptedException {
		SlotStatus found = opened.slot();
		if (found != null && found.isActive()) {
			othersHave(found);
			return;
		}
		CaptureCheckpoint seen = this.store.read();
		CaptureGapException gap = GapCheck.find(this.settings, found, seen, opened.systemId(), opened.serverLsn());
		if (gap == null && lastGap != null && lastGap.isStillAt(seen)) {
			// it was found while reading, and would be again
			gap = new CaptureGapException(lastGap.reason(), seen, false);
		}
		if (gap != null && !resume) {
			// Another instance may have made the slot and its checkpoint in between.
			SlotStatus madeMeanwhile = (found == null) ? opened.slot() : null;
			if (madeMeanwhile != null) {
				othersHave(madeMeanwhile);
				return;
			}
			throw gap;
		}
		SlotStatus usable = usableSlot(opened, found, gap);
		PGReplicationStream stream = opened.stream();
		CaptureCheckpoint taken = take(seen, gap, opened, usable);
		this.state.capturing(LogSequenceNumber.valueOf(taken.position().commit()).asString());
		read(opened, stream, taken);
	}

	/** A slot that is being made keeps nothing yet. */
	private void othersHave(SlotStatus slot) {
		if (slot.isMade()) {
			this.state.standby();
		}
		else {
			this.state.starting();
		}
	}

	private SlotStatus usableSlot(ReplicationSession opened, @Nullable SlotStatus found,
			@Nullable CaptureGapException gap) throws SQLException {
		if (found != null && (gap == null || gap.isSlotUsable())) {
			return found;
		}
		this.state.starting();
		return opened.createSlot(found != null);
	}

	private CaptureCheckpoint take(@Nullable CaptureCheckpoint seen, @Nullable CaptureGapException gap,
			ReplicationSession opened, SlotStatus usable) {
		String systemId = opened.systemId();
		if (gap != null && seen != null) {
			Appended result = this.store.resume(seen, gap.reason(), this.holder, this.settings.slot(), systemId,
					usable.confirmedLsn());
			result.streamIds().forEach(this.appended::accept);
			return result.checkpoint();
		}
		if (gap != null) {
			this.store.recordGap(null, gap.reason());
		}
		return (seen != null) ? this.store.takeOver(seen, this.holder)
				: this.store.begin(this.holder, this.settings.slot(), systemId, usable.confirmedLsn());
	}

	private void read(ReplicationSession opened, PGReplicationStream stream, CaptureCheckpoint taken)
			throws SQLException, InterruptedException {
		ChangeAppender appender = new ChangeAppender(this.store, this.slot, opened.pid(), this.settings, this.progress,
				this.appended, taken);
		Thread thread = new Thread(() -> {
			appender.run();
			if (appender.failure() != null && !Thread.currentThread().isInterrupted()) {
				// who reads may wait for the rest of a message that never comes
				opened.abort();
			}
		}, Thread.currentThread().getName() + "-append");
		thread.setDaemon(true);
		thread.start();
		SQLException broken = null;
		try {
			new ChangeReader(opened, stream, taken.position(), this.settings, appender, this.progress, this.stop).run();
		}
		catch (SQLException ex) {
			broken = ex;
		}
		finally {
			appender.stop();
			thread.join(LAST_APPEND.toMillis());
		}
		rethrow(appender.failure());
		if (broken != null) {
			// not before: the appender may have saved another batch meanwhile
			throw explained(broken, taken);
		}
	}

	/**
	 * A publication that was missing where the slot is stays missing there, even if it is
	 * made anew.
	 */
	private RuntimeException explained(SQLException ex, CaptureCheckpoint taken) throws SQLException {
		boolean skipped = ex instanceof SQLWarning && ReplicationSession.SKIPPED.equals(ex.getSQLState());
		if (skipped || UNDEFINED.equals(ex.getSQLState())) {
			CaptureCheckpoint seen = Objects.requireNonNullElse(this.store.read(), taken);
			return new CaptureGapException("The publication was dropped, so the server cannot tell the changes from "
					+ "before it was made anew: " + ex.getMessage(), seen, false);
		}
		throw ex;
	}

	private static void rethrow(@Nullable Throwable failure) {
		if (failure instanceof RuntimeException ex) {
			throw ex;
		}
		if (failure instanceof Error ex) {
			throw ex;
		}
		if (failure != null) {
			throw new IllegalStateException(failure);
		}
	}

	/** Ends what may wait for long before anything is read. */
	void cancel() {
		ReplicationSession current = this.session;
		if (current != null) {
			current.cancel();
		}
	}

	/** Ends the connection, for a thread that does not end by itself. */
	void abort() {
		ReplicationSession current = this.session;
		if (current != null) {
			current.abort();
		}
	}

}
