package io.pgbus.replication;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;

import io.pgbus.PgBusException;
import io.pgbus.replication.CaptureStatus.State;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.CaptureStore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Captures the changes of published tables: one instance of all reads them from the
 * replication slot and appends them to the log, the others stand by and take over.
 * <p>
 * A change is appended once. When the server no longer has changes that were not read,
 * the capture stops, or goes on if it is set to.
 *
 * @since 0.1.0
 */
public final class Capture implements AutoCloseable {

	private static final Logger logger = LoggerFactory.getLogger(Capture.class);

	/** How long a stop waits before it ends the connection, and then again. */
	private static final Duration STOP = Duration.ofSeconds(6);

	private final BusDatabase database;

	private final CaptureStore store;

	private final ReplicationConnectionFactory connections;

	private final CaptureSettings settings;

	private final String holder;

	private final IntConsumer appended;

	private final String threadName;

	private final CaptureState state;

	private @Nullable Running running;

	/**
	 * Creates a capture, which does nothing until it is started.
	 * @param database the database
	 * @param store appends the changes
	 * @param connections opens the connection that reads
	 * @param settings the settings
	 * @param holder what this instance is called, for people
	 * @param appended is told each stream that has new events; must be quick
	 * @param threadName the name of the thread that reads
	 */
	public Capture(BusDatabase database, CaptureStore store, ReplicationConnectionFactory connections,
			CaptureSettings settings, String holder, IntConsumer appended, String threadName) {
		this.database = database;
		this.store = store;
		this.connections = connections;
		this.settings = settings;
		this.holder = holder;
		this.appended = appended;
		this.threadName = threadName;
		this.state = new CaptureState(settings.slot());
	}

	/**
	 * Checks that changes can be captured: the server's settings, this role's rights, and
	 * the slot if there is one. Nothing is changed. If the server cannot be reached there
	 * is nothing to be said.
	 * @throws PgBusException if they cannot, with the remedy
	 */
	public void check() {
		try (ReplicationSession session = ReplicationSession.open(this.connections, this.settings)) {
			session.slot();
		}
		catch (SQLException ex) {
			logger.debug("It could not be checked whether changes can be captured", ex);
		}
	}

	/**
	 * Starts to capture, or to stand by, in a thread of its own, and does not wait. Does
	 * nothing if it is running. The publications must exist.
	 */
	public synchronized void start() {
		if (this.running == null) {
			this.state.starting();
			CaptureLoop loop = new CaptureLoop(this.connections, this.settings, this.state, this.store,
					(stop) -> new CaptureTurn(this.database, this.store, this.settings, this.holder, this.appended,
							this.state, stop));
			Thread thread = new Thread(loop, this.threadName);
			thread.setDaemon(true);
			this.running = new Running(loop, thread);
			thread.start();
		}
	}

	/**
	 * Waits until changes are kept for the bus: there is a slot, of this instance or
	 * another one. What is committed from then on is not missed.
	 * @param timeout how long to wait
	 * @throws PgBusException if there is none by then, with the reason
	 */
	public void awaitSlot(Duration timeout) {
		long end = System.nanoTime() + timeout.toNanos();
		while (!(this.state.is(State.CAPTURING) || this.state.is(State.STANDBY))) {
			CaptureState.Phase phase = this.state.get();
			if (phase.state() == State.GAP || phase.state() == State.STOPPED || System.nanoTime() >= end) {
				throw new PgBusException("Changes of tables are not captured: "
						+ ((phase.failure() != null) ? phase.failure()
								: "the capture is " + phase.state()
										+ "; a new slot waits for all transactions that write, see pg_stat_activity.")
						+ ((phase.remedy() != null) ? " " + phase.remedy() : ""));
			}
			pause(10);
		}
	}

	private static void pause(long millis) {
		try {
			TimeUnit.MILLISECONDS.sleep(millis);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new PgBusException("Interrupted while waiting for the replication slot", ex);
		}
	}

	/**
	 * Goes on behind a gap: records what is known of it, tells the groups that listen to
	 * gaps, and captures what is committed from now on.
	 * @return whether it had stopped because of a gap
	 */
	public synchronized boolean resume() {
		Running current = this.running;
		return current != null && this.state.is(State.GAP) && current.loop.resume();
	}

	/**
	 * Returns what this instance's capture does, without asking the server.
	 * @return the status
	 */
	public synchronized CaptureStatus status() {
		CaptureProgress progress = (this.running != null) ? this.running.loop.progress() : new CaptureProgress();
		return progress.status(this.state.get(), this.settings.slot());
	}

	/**
	 * Drops the slot, so that the server keeps nothing for the bus any more. The next
	 * start finds that as a gap, unless nothing was captured before.
	 * @return whether there was one
	 * @throws PgBusException if an instance uses it, or the server refuses
	 */
	public boolean dropSlot() {
		try (ReplicationSession session = ReplicationSession.open(this.connections, this.settings)) {
			SlotStatus slot = session.slot();
			if (slot == null) {
				return false;
			}
			if (slot.isActive()) {
				throw new PgBusException(
						("The replication slot \"%s\" is in use by the server process %d. Stop the table "
								+ "listeners of all instances first.")
							.formatted(slot.name(), slot.activePid()));
			}
			session.dropSlot();
			logger.info("Dropped the replication slot {}", slot.name());
			return true;
		}
		catch (SQLException ex) {
			throw new PgBusException(
					"The replication slot \"" + this.settings.slot() + "\" could not be dropped: " + ex.getMessage(),
					ex);
		}
	}

	/**
	 * Stops to capture. What is being appended comes to its end, for some seconds. May be
	 * called again, and the capture may be started again.
	 */
	@Override
	public synchronized void close() {
		Running current = this.running;
		if (current == null) {
			return;
		}
		this.running = null;
		current.loop.stop();
		try {
			current.thread.join(STOP.toMillis());
			if (current.thread.isAlive()) {
				current.loop.abort();
				current.thread.interrupt();
				current.thread.join(STOP.toMillis());
			}
		}
		catch (InterruptedException ex) {
			current.loop.abort();
			Thread.currentThread().interrupt();
		}
		this.state.stopped();
	}

	private record Running(CaptureLoop loop, Thread thread) {

	}

}
