package io.pgbus.actuate;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A look at the database that holds for a while. It is taken when somebody asks and the
 * last one does not hold any more.
 *
 * @param <T> what is seen
 */
final class TimedLook<T> {

	private static final Logger logger = LoggerFactory.getLogger(TimedLook.class);

	private final String what;

	private final Supplier<T> database;

	private final Consumer<T> onNew;

	private final long intervalNanos;

	private final ReentrantLock looking = new ReentrantLock();

	private volatile @Nullable Seen<T> last;

	/**
	 * Creates the look.
	 * @param what what it is for, for people
	 * @param database takes it
	 * @param onNew is told what was seen, by one thread at a time
	 * @param interval the time for which it holds
	 */
	TimedLook(String what, Supplier<T> database, Consumer<T> onNew, Duration interval) {
		this.what = what;
		this.database = database;
		this.onNew = onNew;
		this.intervalNanos = interval.toNanos();
	}

	/**
	 * Returns what the last look has seen. While one thread looks, the others get what is
	 * known.
	 * @return what it was, or {@code null} if it failed
	 */
	@Nullable T get() {
		if (isDue(this.last) && this.looking.tryLock()) {
			try {
				Seen<T> before = this.last;
				if (isDue(before)) {
					this.last = new Seen<>(lookNow(before), System.nanoTime());
				}
			}
			finally {
				this.looking.unlock();
			}
		}
		Seen<T> seen = this.last;
		return (seen != null) ? seen.value() : null;
	}

	/** Does something while nobody looks. */
	void betweenLooks(Runnable work) {
		this.looking.lock();
		try {
			work.run();
		}
		finally {
			this.looking.unlock();
		}
	}

	private boolean isDue(@Nullable Seen<T> seen) {
		return seen == null || System.nanoTime() - seen.nanos() >= this.intervalNanos;
	}

	private @Nullable T lookNow(@Nullable Seen<T> before) {
		try {
			T value = this.database.get();
			this.onNew.accept(value);
			return value;
		}
		catch (RuntimeException ex) {
			if (before == null || before.value() != null) {
				logger.warn("The gauges of {} cannot be read and show nothing until they can: {}", this.what,
						ex.toString());
			}
			return null;
		}
	}

	/**
	 * A look.
	 *
	 * @param value what was seen, or {@code null} if it failed
	 * @param nanos when it was taken
	 */
	private record Seen<T>(@Nullable T value, long nanos) {

	}

}
