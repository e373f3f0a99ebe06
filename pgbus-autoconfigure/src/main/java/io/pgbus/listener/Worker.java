package io.pgbus.listener;

import java.util.List;
import java.util.function.BooleanSupplier;

import io.pgbus.listener.ListenerMetrics.WakeUpCause;
import io.pgbus.store.Claim;
import io.pgbus.store.DatabaseTrouble;
import io.pgbus.store.Holder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Works on one cursor at a time: claims it, handles what was read, saves the position,
 * reads on, and lets go when the window is done, when others may want a turn, or when the
 * container stops.
 */
final class Worker implements Runnable {

	private static final Logger logger = LoggerFactory.getLogger(Worker.class);

	/**
	 * After this time a cursor goes to the end of the queue, so that others have their
	 * turn, and events of its own that are to be tried again.
	 */
	private static final long MAX_HOLD_NANOS = 1_000_000_000L;

	/** While a worker handles for so long, another may just as well do the next read. */
	private static final long LONG_NANOS = 2_000_000L;

	private final DefaultPgListenerContainer container;

	private final ContainerWork work;

	/** Of backfills, {@code null} if the listener has none. */
	private final @Nullable ChunkWork chunks;

	private final int number;

	/** How long the events of the last read took. */
	private long handledForNanos;

	/** After an answer was lost, the database may think this worker holds a cursor. */
	private boolean mayHaveStrays;

	Worker(DefaultPgListenerContainer container, ContainerWork work, int number) {
		this.container = container;
		this.work = work;
		this.chunks = (work.chunks() != null) ? new ChunkWork(container, work, work.chunks(), container.metrics())
				: null;
		this.number = number;
	}

	@Override
	public void run() {
		WorkSignal signal = this.container.signal();
		while (this.container.awaitWork()) {
			try {
				takeWork(signal);
				this.container.foundNothing();
			}
			catch (RuntimeException | Error ex) {
				this.mayHaveStrays = true;
				this.container.troubled(ex);
			}
			finally {
				signal.ends();
			}
			// nobody ends a worker by an interrupt: what is left of one is from those it
			// called
			Thread.interrupted();
		}
		try {
			releaseStrays();
		}
		catch (RuntimeException ex) {
			this.container.consumer().whenReachable(this::releaseStrays);
		}
	}

	private void releaseStrays() {
		if (this.mayHaveStrays) {
			this.work.cursors().releaseStrays(holder());
			if (this.chunks != null) {
				this.chunks.releaseStrays(holder());
			}
			this.mayHaveStrays = false;
		}
	}

	private void takeWork(WorkSignal signal) {
		while (this.work.goesOn()) {
			releaseStrays();
			signal.looks();
			List<Integer> avoided = this.work.backOff().pausing();
			boolean hadChunk = this.chunks != null && this.chunks.tryOne(holder(), avoided);
			Claim claim = claim(holder(), avoided);
			if (claim != null) {
				signal.found(claim.hasMore() || this.handledForNanos >= LONG_NANOS);
				workOn(claim);
			}
			else if (!hadChunk) {
				this.work.backOff().foundNothingBut(avoided);
				return;
			}
		}
	}

	/**
	 * Claims a cursor. If the filter fails on one of the events, the read fails as a
	 * whole; then events are read without it, and it is asked for each by itself.
	 */
	private @Nullable Claim claim(Holder holder, List<Integer> avoided) {
		try {
			return this.work.cursors().claim(holder, avoided);
		}
		catch (RuntimeException ex) {
			if (this.work.filter() == null || DatabaseTrouble.of(ex) != DatabaseTrouble.NONE) {
				throw ex;
			}
			return this.work.unfilteredCursors().claim(holder, avoided);
		}
	}

	private void workOn(Claim first) {
		Holder holder = holder();
		long start = System.nanoTime();
		Claim claim = first;
		this.work.backOff().trying(claim);
		while (claim != null) {
			ClaimRun run = new ClaimRun(this.work, holder, claim);
			try {
				Claim next = runOnce(claim, run, holder, start);
				this.work.backOff().succeeded(claim);
				// now, as it may be long until there is no more work
				this.container.recovered();
				claim = next;
			}
			catch (LostCursorException ex) {
				logger.info("Listener {} lost partition {} of stream {}: {}", this.container.id(), claim.partition(),
						claim.stream(), ex.getMessage());
				this.work.backOff().lost(claim);
				// it is another's, or it is this worker's and will be read anew with the
				// ledger
				this.work.cursors().releaseStrays(holder);
				return;
			}
			catch (RuntimeException | Error ex) {
				letGo(claim, run.progress(), ex);
				if (DatabaseTrouble.of(ex) == DatabaseTrouble.OUTAGE) {
					throw ex;
				}
				this.work.backOff().failed(claim, ex);
				return;
			}
		}
	}

	private @Nullable Claim runOnce(Claim claim, ClaimRun run, Holder holder, long start) {
		if (claim.retriesDue()) {
			run.tryDueAgain();
		}
		BooleanSupplier isLongEnough = () -> System.nanoTime() - start >= MAX_HOLD_NANOS;
		long deliveryStart = System.nanoTime();
		boolean finished = run.deliver(isLongEnough);
		this.handledForNanos = System.nanoTime() - deliveryStart;
		Progress progress = run.progress();
		if (finished && claim.isFiltered() && claim.hasMore() && this.work.goesOn() && !isLongEnough.getAsBoolean()) {
			Claim next = this.work.cursors().advance(claim, holder, progress);
			if (next == null) {
				throw new LostCursorException("It was taken over");
			}
			return next;
		}
		String awaitsType = finished ? claim.awaitsType() : null;
		if (!this.work.cursors().release(claim, progress, awaitsType)) {
			throw new LostCursorException("It was taken over");
		}
		if (awaitsType != null) {
			this.container.consumer().wakeGroup(this.container.groupId(), WakeUpCause.HANDOVER);
		}
		return null;
	}

	private void letGo(Claim claim, Progress progress, Throwable cause) {
		try {
			boolean released = this.work.cursors().release(claim, progress, null);
			// if not, the state that was about to be saved may have been
			this.mayHaveStrays = !released;
		}
		catch (RuntimeException ex) {
			this.mayHaveStrays = true;
			cause.addSuppressed(ex);
		}
	}

	private Holder holder() {
		return new Holder(this.container.consumer().id(), this.number);
	}

}
