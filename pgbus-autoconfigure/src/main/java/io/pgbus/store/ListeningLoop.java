package io.pgbus.store;

import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.util.backoff.BackOffExecution;
import org.springframework.util.backoff.ExponentialBackOff;

/**
 * What the thread of a {@link NotificationListener} does: connects, listens, passes on,
 * and connects anew, until it is stopped.
 */
final class ListeningLoop implements Runnable {

	private static final Logger logger = LoggerFactory.getLogger(ListeningLoop.class);

	/** Also how often a lost connection is made anew without any pause. */
	private static final Duration MAX_BACK_OFF = Duration.ofSeconds(10);

	/** How soon it is noticed that the consumer's id has changed. */
	private static final Duration WAIT = Duration.ofSeconds(1);

	private final BusDatabase database;

	private final NotificationConnectionFactory connections;

	private final NotificationReceiver receiver;

	private final IntSupplier consumerId;

	private final Timing timing;

	private final ListeningState state;

	private final LockMark mark;

	private final CountDownLatch stop = new CountDownLatch(1);

	private volatile @Nullable NotificationSession session;

	private BackOffExecution backOff = newBackOff();

	private long retriedAtOnceAt = System.nanoTime() - MAX_BACK_OFF.toNanos();

	ListeningLoop(BusDatabase database, NotificationConnectionFactory connections, NotificationReceiver receiver,
			IntSupplier consumerId, Timing timing, ListeningState state, LockMark mark) {
		this.database = database;
		this.connections = connections;
		this.receiver = receiver;
		this.consumerId = consumerId;
		this.timing = timing;
		this.state = state;
		this.mark = mark;
	}

	@Override
	public void run() {
		while (!isStopped()) {
			Duration pause = Duration.ZERO;
			try {
				connectAndListen();
			}
			catch (Throwable ex) {
				if (!isStopped()) {
					pause = failed(ex);
				}
			}
			pause(pause);
		}
	}

	private void connectAndListen() throws SQLException {
		try (NotificationSession opened = NotificationSession.open(this.database, this.connections,
				this.timing.answerTimeout)) {
			this.session = opened;
			if (isStopped()) {
				return;
			}
			lock(opened);
			this.state.listening(opened.channel());
			tell(this.receiver::publishedToAny);
			while (!isStopped()) {
				lock(opened);
				passOn(opened.await(WAIT.compareTo(this.timing.probeInterval) < 0 ? WAIT : this.timing.probeInterval));
				opened.beat();
				if (opened.probe(this.timing.probeInterval)) {
					this.mark.set(this.consumerId.getAsInt(), true);
				}
			}
		}
		finally {
			this.session = null;
		}
	}

	private void lock(NotificationSession session) throws SQLException {
		int id = this.consumerId.getAsInt();
		if (session.lock(id)) {
			this.mark.set(id, true);
		}
	}

	private void passOn(List<WakeUpMessage> messages) {
		Set<Integer> streamIds = new HashSet<>();
		boolean any = false;
		for (WakeUpMessage message : messages) {
			any |= message.any();
			streamIds.addAll(message.streamIds());
		}
		if (any) {
			tell(this.receiver::publishedToAny);
		}
		else if (!streamIds.isEmpty()) {
			tell(() -> this.receiver.published(streamIds));
		}
	}

	private static void tell(Runnable news) {
		try {
			news.run();
		}
		catch (Throwable ex) {
			logger.error("A wake-up could not be passed on", ex);
		}
	}

	/**
	 * Returns how long to wait before the next attempt: not at all after a connection was
	 * lost, unless that happens all the time.
	 */
	private Duration failed(Throwable ex) {
		this.mark.set(this.consumerId.getAsInt(), false);
		logger.debug("Not listening for wake-ups", ex);
		// further lines are the driver's details
		String reason = String.valueOf(ex.getMessage()).lines().findFirst().orElseGet(ex::toString);
		if (ex instanceof SessionNotKeptException) {
			this.state.unable(reason);
			return this.timing.recheckInterval;
		}
		boolean wasListening = this.state.get().phase() == ListeningState.Phase.LISTENING;
		this.state.lost(reason);
		if (wasListening && System.nanoTime() - this.retriedAtOnceAt >= MAX_BACK_OFF.toNanos()) {
			this.retriedAtOnceAt = System.nanoTime();
			this.backOff = newBackOff();
			return Duration.ZERO;
		}
		return Duration.ofMillis(this.backOff.nextBackOff());
	}

	private void pause(Duration pause) {
		try {
			if (!pause.isZero()) {
				this.stop.await(pause.toMillis(), TimeUnit.MILLISECONDS);
			}
		}
		catch (InterruptedException ex) {
			// only a sign to look whether to stop
			logger.trace("Interrupted", ex);
		}
	}

	private boolean isStopped() {
		return this.stop.getCount() == 0;
	}

	/**
	 * Lets the thread end, and does not wait for it.
	 */
	void stop() {
		this.stop.countDown();
		NotificationSession current = this.session;
		if (current != null) {
			current.close();
		}
	}

	private static BackOffExecution newBackOff() {
		ExponentialBackOff backOff = new ExponentialBackOff(100, 2);
		backOff.setMaxInterval(MAX_BACK_OFF.toMillis());
		return backOff.start();
	}

	/**
	 * How long things may take.
	 *
	 * @param probeInterval how long the server may be silent before it is asked for a
	 * sign of life
	 * @param answerTimeout how long it may take to answer
	 * @param recheckInterval how long to wait before looking again whether a pooler keeps
	 * sessions
	 */
	record Timing(Duration probeInterval, Duration answerTimeout, Duration recheckInterval) {

	}

}
