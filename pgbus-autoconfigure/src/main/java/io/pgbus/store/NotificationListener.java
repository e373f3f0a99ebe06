package io.pgbus.store;

import java.time.Duration;
import java.time.Instant;

import io.pgbus.store.ListeningLoop.Timing;
import org.jspecify.annotations.Nullable;

/**
 * Hears what other instances have published, on one connection that is not from the pool,
 * and holds on that connection the lock by which others see that this consumer lives.
 * <p>
 * A lost connection is made anew at once, then with a growing pause of up to 10 seconds;
 * one that is half open is noticed within a minute. Where a pooler hands the server's
 * session on after every transaction, listening cannot work: that is logged once, no lock
 * is taken, and it is looked again every ten minutes. Whatever is not heard is found by
 * polling.
 *
 * @since 0.1.0
 */
public final class NotificationListener implements AutoCloseable {

	private static final Timing TIMING = new Timing(Duration.ofSeconds(20), Duration.ofSeconds(10),
			Duration.ofMinutes(10));

	private final BusDatabase database;

	private final NotificationConnectionFactory connections;

	private final NotificationReceiver receiver;

	private final String threadName;

	private final Timing timing;

	private final ListeningState state = new ListeningState();

	private volatile int consumerId;

	private @Nullable Running running;

	/**
	 * Creates a listener, which does nothing until it is started.
	 * @param database the database
	 * @param connections opens the connection
	 * @param receiver is told what was heard, and is told of any stream after every
	 * connect
	 * @param threadName the name of the thread that listens
	 */
	public NotificationListener(BusDatabase database, NotificationConnectionFactory connections,
			NotificationReceiver receiver, String threadName) {
		this(database, connections, receiver, threadName, TIMING);
	}

	NotificationListener(BusDatabase database, NotificationConnectionFactory connections, NotificationReceiver receiver,
			String threadName, Timing timing) {
		this.database = database;
		this.connections = connections;
		this.receiver = receiver;
		this.threadName = threadName;
		this.timing = timing;
	}

	/**
	 * Starts to listen in a thread of its own and does not wait for the connection. If it
	 * is running already only the consumer changes.
	 * @param consumerId the consumer that this instance is registered as
	 */
	public synchronized void start(int consumerId) {
		this.consumerId = consumerId;
		if (this.running == null) {
			LockMark mark = new LockMark(this.database, this.threadName + "-mark");
			ListeningLoop loop = new ListeningLoop(this.database, this.connections, this.receiver,
					() -> this.consumerId, this.timing, this.state, mark);
			Thread thread = new Thread(loop, this.threadName);
			thread.setDaemon(true);
			this.running = new Running(loop, thread, mark);
			thread.start();
		}
	}

	/**
	 * Changes the consumer, after this instance was taken for dead and has registered
	 * anew. The lock follows within a second.
	 * @param consumerId the consumer that this instance is registered as now
	 */
	public void consumerId(int consumerId) {
		this.consumerId = consumerId;
	}

	/**
	 * Tells whether notifications are heard at this time. A connection that is half open
	 * counts until that is noticed.
	 * @return whether they are
	 */
	public boolean isListening() {
		return this.state.get().phase() == ListeningState.Phase.LISTENING;
	}

	/**
	 * Returns since when it is listening, or is not.
	 * @return the time, by this machine's clock
	 */
	public Instant since() {
		return this.state.get().since();
	}

	/**
	 * Returns why listening failed the last time.
	 * @return the reason, or {@code null} if it never failed
	 */
	public @Nullable String lastFailure() {
		return this.state.get().failure();
	}

	/**
	 * Stops to listen and closes the connection, and with it gives the lock back. Takes a
	 * second or two at most, even if the server does not answer. May be called again, and
	 * the listener may be started again.
	 */
	@Override
	public synchronized void close() {
		Running current = this.running;
		if (current == null) {
			return;
		}
		this.running = null;
		current.loop.stop();
		current.thread.interrupt();
		try {
			current.thread.join(1000);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		// The second look, by which others would take the mark without a lock for death,
		// is a second away.
		current.mark.set(this.consumerId, false);
		current.mark.close();
		this.state.stopped();
	}

	private record Running(ListeningLoop loop, Thread thread, LockMark mark) {

	}

}
