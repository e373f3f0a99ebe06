package io.pgbus.listener;

import java.util.List;

import io.pgbus.listener.ListenerMetrics.WakeUpCause;
import io.pgbus.store.Chunk;
import io.pgbus.store.ChunkStore;
import io.pgbus.store.Claim;
import io.pgbus.store.DatabaseTrouble;
import io.pgbus.store.Holder;
import io.pgbus.store.PublishedTable;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Works on one chunk of a backfill: handles its rows in order, as many at a time as a
 * read of events has at most, and saves how far it is in between.
 */
final class ChunkWork {

	private static final Logger logger = LoggerFactory.getLogger(ChunkWork.class);

	private final DefaultPgListenerContainer container;

	private final ContainerWork work;

	private final Chunks chunks;

	private final ListenerMetrics metrics;

	ChunkWork(DefaultPgListenerContainer container, ContainerWork work, Chunks chunks, ListenerMetrics metrics) {
		this.metrics = metrics;
		this.container = container;
		this.work = work;
		this.chunks = chunks;
	}

	/**
	 * Works on a chunk, if there may be one, and there is.
	 * @param holder the worker
	 * @param avoided the cursors to leave alone
	 * @return whether there was one
	 */
	boolean tryOne(Holder holder, List<Integer> avoided) {
		WorkSignal signal = this.container.signal();
		if (!signal.takesBackfill()) {
			return false;
		}
		Chunk chunk = null;
		boolean mayBeMore = true;
		try {
			chunk = this.chunks.store().claim(holder, avoided);
			// those that are left alone come again without anybody saying so
			mayBeMore = chunk != null || this.work.backOff().isActive();
		}
		finally {
			if (mayBeMore) {
				signal.mayHaveBackfill();
			}
		}
		if (chunk == null) {
			return false;
		}
		signal.found(true);
		this.work.backOff().trying(chunk.next(1));
		while (chunk != null) {
			chunk = workOn(chunk, holder);
		}
		// another worker may have asked meanwhile and found what is next being planned
		signal.mayHaveBackfill();
		return true;
	}

	private @Nullable Chunk workOn(Chunk chunk, Holder holder) {
		Claim claim = chunk.next(this.work.batchSize());
		ClaimRun run = new ClaimRun(this.work, holder, claim, FirstFailures.of(this.chunks.failures()));
		try {
			boolean finished = run.deliver();
			Chunk next = (claim.readingTo() == claim.ceiling() && finished) ? finish(chunk)
					: save(chunk, run.progress().position(), finished && this.work.goesOn());
			this.work.backOff().succeeded(claim);
			this.container.recovered();
			return next;
		}
		catch (LostCursorException ex) {
			logger.info("Listener {} lost chunk {} of backfill {}: {}", this.container.id(), chunk.id(),
					chunk.backfillId(), ex.getMessage());
			this.work.backOff().lost(claim);
			this.chunks.store().releaseStrays(holder);
			return null;
		}
		catch (RuntimeException | Error ex) {
			letGo(chunk, run.progress().position(), ex);
			if (DatabaseTrouble.of(ex) == DatabaseTrouble.OUTAGE) {
				throw ex;
			}
			this.work.backOff().failed(claim, ex);
			return null;
		}
	}

	private @Nullable Chunk finish(Chunk chunk) {
		Boolean isDone = this.chunks.store().finish(chunk);
		if (isDone == null) {
			throw new LostCursorException("It was taken over");
		}
		this.metrics.backfilled(PublishedTable.qualifiedNameOf(chunk.stream()), this.container.endpoint().group(),
				chunk.events().size());
		if (isDone) {
			// changes that waited have their turn
			this.container.consumer().wakeGroup(this.container.groupId(), WakeUpCause.HANDOVER);
		}
		return null;
	}

	private @Nullable Chunk save(Chunk chunk, long position, boolean goesOn) {
		ChunkStore.Saved saved = this.chunks.store().save(chunk, position, goesOn);
		if (!saved.isSaved()) {
			throw new LostCursorException("It was taken over");
		}
		return saved.chunk();
	}

	/** If that fails as well, the worker looks for what it may hold before it goes on. */
	private void letGo(Chunk chunk, long position, Throwable cause) {
		try {
			this.chunks.store().save(chunk, position, false);
		}
		catch (RuntimeException ex) {
			cause.addSuppressed(ex);
			throw ex;
		}
	}

	void releaseStrays(Holder holder) {
		this.chunks.store().releaseStrays(holder);
	}

}
