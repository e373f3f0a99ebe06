package io.pgbus.store;

import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;

/**
 * Keeps the mark in a consumer's row that says whether it holds its lock: others take one
 * that is marked, but has no lock, for dead. It is written apart from the thread that
 * listens, as the pool may keep it waiting longest just when it must connect anew.
 */
final class LockMark {

	private static final Logger logger = LoggerFactory.getLogger(LockMark.class);

	private static final String WRITE = """
			update {bus}.consumer set locked = :locked where id = :id and locked <> :locked
			returning id
			""";

	private final RoundTrip write;

	/** One thread, which ends when it is idle, and one write that waits for it. */
	private final ThreadPoolExecutor executor;

	private volatile @Nullable State wanted;

	private @Nullable State written;

	LockMark(BusDatabase database, String threadName) {
		this.write = database.ownRoundTrip(WRITE);
		// The write that waits writes what is wanted by then, so another need not.
		this.executor = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new ArrayBlockingQueue<>(1), (task) -> {
			Thread thread = new Thread(task, threadName);
			thread.setDaemon(true);
			return thread;
		}, new ThreadPoolExecutor.DiscardPolicy());
		this.executor.allowCoreThreadTimeOut(true);
	}

	/**
	 * Has the mark written soon, unless it is known to be so. What fails is tried again
	 * at the next call.
	 * @param consumerId the consumer
	 * @param locked whether it holds its lock
	 */
	void set(int consumerId, boolean locked) {
		this.wanted = new State(consumerId, locked);
		this.executor.execute(this::write);
	}

	private void write() {
		State state = this.wanted;
		if (state == null || state.equals(this.written)) {
			return;
		}
		try {
			this.write.run(Map.of("id", state.consumerId, "locked", state.locked), (row) -> true);
			this.written = state;
		}
		catch (DataAccessException ex) {
			this.written = null;
			logger.debug("It could not be marked that consumer {} {} its lock", state.consumerId,
					state.locked ? "holds" : "does not hold", ex);
		}
	}

	/**
	 * Ends the thread once it has written what is wanted, but soon.
	 */
	void close() {
		this.executor.shutdown();
		try {
			this.executor.awaitTermination(1, TimeUnit.SECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		this.executor.shutdownNow();
	}

	private record State(int consumerId, boolean locked) {

	}

}
