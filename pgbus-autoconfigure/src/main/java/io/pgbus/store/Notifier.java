package io.pgbus.store;

import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.core.NestedExceptionUtils;

/**
 * Notifies other instances of streams that have new events, after the events are
 * committed and on a connection of its own: in the publisher's transaction a notification
 * would take a lock at commit that all transactions of the cluster share.
 * <p>
 * The first notification of a burst is sent at once, what follows is sent together: after
 * an eighth of the interval at first, and as long as something has gathered each time
 * less and less often, down to once per interval. What cannot be sent is dropped, as the
 * others poll as well.
 *
 * @since 0.1.0
 */
public final class Notifier implements AutoCloseable {

	private static final Logger logger = LoggerFactory.getLogger(Notifier.class);

	/** How long notifications are collected by default, where they go on and on. */
	public static final Duration DEFAULT_INTERVAL = Duration.ofMillis(10);

	/**
	 * Nothing is lost if it is: so it keeps no publisher's commit waiting for the disk.
	 */
	private static final String NOTIFY = """
			select set_config('synchronous_commit', 'off', true), pg_notify(:channel, :message)
			""";

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);

	private final RoundTrip notify;

	private final String channel;

	private final IntSupplier consumerId;

	private final long longestNanos;

	private final long shortestNanos;

	private final String threadName;

	private final ReentrantLock lock = new ReentrantLock();

	private final Condition pendingOrClosed = this.lock.newCondition();

	private final Condition closing = this.lock.newCondition();

	private Set<Integer> pending = new HashSet<>();

	private boolean closed;

	private @Nullable Thread thread;

	private boolean failing;

	/**
	 * Creates a notifier. Its thread starts with the first notification.
	 * @param database the database
	 * @param consumerId the consumer that this instance is registered as, whose listener
	 * ignores what is sent; 0 if it is not registered
	 * @param interval how long to collect notifications at most
	 * @param threadName the name of the thread that sends
	 */
	public Notifier(BusDatabase database, IntSupplier consumerId, Duration interval, String threadName) {
		this.notify = database.ownRoundTrip(NOTIFY);
		this.channel = WakeUpMessage.channel(database.schema());
		this.consumerId = consumerId;
		this.longestNanos = interval.toNanos();
		this.shortestNanos = this.longestNanos / 8;
		this.threadName = threadName;
	}

	/**
	 * Has other instances notified soon. Neither waits nor fails. Does nothing after
	 * {@link #close()}.
	 * @param streamId the stream that has new, committed events
	 */
	public void published(int streamId) {
		this.lock.lock();
		try {
			if (!this.closed && this.pending.add(streamId)) {
				if (this.thread == null) {
					this.thread = new Thread(this::run, this.threadName);
					this.thread.setDaemon(true);
					this.thread.start();
				}
				this.pendingOrClosed.signal();
			}
		}
		finally {
			this.lock.unlock();
		}
	}

	private void run() {
		try {
			long nanos = this.shortestNanos;
			Set<Integer> streamIds = take();
			while (!streamIds.isEmpty()) {
				long start = System.nanoTime();
				send(streamIds);
				boolean goesOn = collect(nanos - (System.nanoTime() - start));
				nanos = goesOn ? Math.min(2 * nanos, this.longestNanos) : Math.max(nanos / 2, this.shortestNanos);
				streamIds = take();
			}
		}
		catch (InterruptedException ex) {
			// only close() interrupts
			logger.debug("Closed before all notifications were sent");
		}
	}

	/**
	 * Waits for something to send.
	 * @return the streams, none if nothing more will come
	 */
	private Set<Integer> take() throws InterruptedException {
		this.lock.lockInterruptibly();
		try {
			while (this.pending.isEmpty() && !this.closed) {
				this.pendingOrClosed.await();
			}
			Set<Integer> taken = this.pending;
			this.pending = new HashSet<>();
			return taken;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Gives what is to be sent next some time to gather.
	 * @return whether something has
	 */
	private boolean collect(long nanos) throws InterruptedException {
		this.lock.lockInterruptibly();
		try {
			long left = nanos;
			while (left > 0 && !this.closed) {
				left = this.closing.awaitNanos(left);
			}
			return !this.pending.isEmpty();
		}
		finally {
			this.lock.unlock();
		}
	}

	private void send(Set<Integer> streamIds) {
		try {
			String message = new WakeUpMessage(this.consumerId.getAsInt(), false, streamIds).text();
			this.notify.run(Map.of("channel", this.channel, "message", message), (row) -> true);
			if (this.failing) {
				this.failing = false;
				logger.info("Notifications to other instances can be sent again");
			}
		}
		catch (Throwable ex) {
			if (!this.failing) {
				this.failing = true;
				logger.warn(
						"Notifications to other instances cannot be sent; they find new events by polling "
								+ "until that works again: {}",
						NestedExceptionUtils.getMostSpecificCause(ex).getMessage());
			}
			logger.debug("A notification could not be sent", ex);
		}
	}

	/**
	 * Sends what is pending, for at most two seconds, and ends the thread.
	 */
	@Override
	public void close() {
		Thread sender;
		this.lock.lock();
		try {
			this.closed = true;
			sender = this.thread;
			this.pendingOrClosed.signalAll();
			this.closing.signalAll();
		}
		finally {
			this.lock.unlock();
		}
		if (sender != null) {
			try {
				sender.join(CLOSE_TIMEOUT.toMillis());
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			sender.interrupt();
		}
	}

}
