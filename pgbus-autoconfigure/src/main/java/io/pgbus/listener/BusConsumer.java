package io.pgbus.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

import io.pgbus.core.WakeUps;
import io.pgbus.listener.ListenerMetrics.WakeUpCause;
import io.pgbus.store.ConsumerStore;
import io.pgbus.store.ConsumerStore.Sight;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This application instance as others see it: registered, with a heartbeat. It looks for
 * work for all its listeners with one query, wakes them when it is told of events, and
 * buries other instances that are dead.
 *
 * @since 0.1.0
 */
public final class BusConsumer implements WakeUps {

	/** The silence after which an instance is taken for dead by default. */
	public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);

	private static final Logger logger = LoggerFactory.getLogger(BusConsumer.class);

	private static final Duration SHORTEST_TIMEOUT = Duration.ofMillis(100);

	/** So many heartbeats fit in the timeout: one or two may be late. */
	private static final int HEARTBEATS_PER_TIMEOUT = 6;

	private final ConsumerStore store;

	private final String name;

	private final Duration timeout;

	private final Duration pollInterval;

	private final IntConsumer onRegistered;

	private final Map<String, Member> members = new ConcurrentHashMap<>();

	private final List<IntConsumer> whenBuried = new CopyOnWriteArrayList<>();

	private final Queue<Runnable> whenReachable = new ConcurrentLinkedQueue<>();

	private final AtomicInteger workers = new AtomicInteger();

	private volatile int id;

	private volatile boolean toStop;

	private @Nullable CountDownLatch stopped;

	private @Nullable Thread thread;

	/**
	 * Creates a consumer.
	 * @param store the store
	 * @param name a name for people, such as host and process id
	 * @param timeout the age of the heartbeat at which others may take this instance for
	 * dead
	 * @param pollInterval the time between two looks for work
	 * @param onRegistered is told the id, when the consumer starts and whenever it
	 * changes
	 */
	public BusConsumer(ConsumerStore store, String name, Duration timeout, Duration pollInterval,
			IntConsumer onRegistered) {
		if (timeout.compareTo(SHORTEST_TIMEOUT) < 0) {
			throw new IllegalArgumentException(
					"pgbus.consumer.timeout is " + timeout + ", but must be at least " + SHORTEST_TIMEOUT);
		}
		this.store = store;
		this.name = name;
		this.timeout = timeout;
		this.pollInterval = pollInterval;
		this.onRegistered = onRegistered;
	}

	/**
	 * Returns the id, which changes if others took this instance for dead.
	 * @return the id, 0 if it has not been started
	 */
	public int id() {
		return this.id;
	}

	/**
	 * Returns the name.
	 * @return a name for people
	 */
	public String name() {
		return this.name;
	}

	/**
	 * Does something whenever this instance has found another one dead.
	 * @param task is given the id of that consumer
	 */
	public void whenBuried(IntConsumer task) {
		this.whenBuried.add(task);
	}

	/**
	 * Registers the consumer and starts to look for work. Does nothing if it has started.
	 */
	public synchronized void start() {
		this.toStop = false;
		if (this.stopped != null) {
			return;
		}
		register();
		CountDownLatch stop = new CountDownLatch(1);
		Thread poll = new Thread(() -> poll(stop), "pgbus-poll");
		poll.setDaemon(true);
		this.stopped = stop;
		this.thread = poll;
		poll.start();
	}

	/**
	 * Stops looking, and says that this instance is gone, once no listener takes part any
	 * more: several registries may share the consumer.
	 */
	public synchronized void stop() {
		this.toStop = true;
		if (this.stopped == null || this.thread == null || !this.members.isEmpty()) {
			return;
		}
		this.stopped.countDown();
		boolean interrupted = false;
		try {
			this.thread.join(this.timeout.toMillis());
		}
		catch (InterruptedException ex) {
			interrupted = true;
		}
		this.stopped = null;
		try {
			this.store.remove(this.id);
		}
		catch (RuntimeException ex) {
			logger.warn("Consumer {} could not sign off; others will see that it is gone: {}", this.id, ex.toString());
		}
		if (interrupted) {
			Thread.currentThread().interrupt();
		}
	}

	/** Whether a listener of this instance has the stream. */
	boolean hears(int streamId) {
		return this.members.values().stream().anyMatch((member) -> member.streamIds().contains(streamId));
	}

	@Override
	public void published(int streamId) {
		published(streamId, WakeUpCause.PUBLISH);
	}

	/**
	 * Another instance has published events to a stream, which are committed.
	 * @param streamId the stream
	 */
	public void publishedElsewhere(int streamId) {
		published(streamId, WakeUpCause.NOTIFICATION);
	}

	/**
	 * Any stream may have new events, which are committed.
	 */
	public void publishedSomewhere() {
		this.members.values().forEach((member) -> member.signal().published(WakeUpCause.NOTIFICATION));
	}

	private void published(int streamId, WakeUpCause cause) {
		this.members.values()
			.stream()
			.filter((member) -> member.streamIds().contains(streamId))
			.forEach((member) -> member.signal().published(cause));
	}

	/** There may be rows of backfills for a group. */
	void backfill(String group, WakeUpCause cause) {
		this.members.values()
			.stream()
			.filter((member) -> member.group().equals(group))
			.forEach((member) -> member.signal().backfill(cause));
	}

	private void backfill(int groupId) {
		this.members.values()
			.stream()
			.filter((member) -> member.groupId() == groupId)
			.forEach((member) -> member.signal().backfill(WakeUpCause.POLL));
	}

	void wakeGroup(int groupId, WakeUpCause cause) {
		this.members.values()
			.stream()
			.filter((member) -> member.groupId() == groupId)
			.forEach((member) -> member.signal().wakeOne(cause));
	}

	/** A number for a worker that no other of this instance has. */
	int nextWorker() {
		return this.workers.incrementAndGet();
	}

	void join(String listener, Member member) {
		this.store.join(this.id, listener, member.groupId(), member.types());
		this.members.put(listener, member);
	}

	void leave(String listener) {
		this.members.remove(listener);
		try {
			this.store.leave(this.id, listener);
		}
		finally {
			if (this.toStop) {
				stop();
			}
		}
	}

	/** Does something once the database can be reached. */
	void whenReachable(Runnable task) {
		this.whenReachable.add(task);
	}

	private void register() {
		this.id = this.store.register(this.name, this.timeout);
		this.onRegistered.accept(this.id);
	}

	private void poll(CountDownLatch stop) {
		Set<Integer> suspects = new HashSet<>();
		long heartbeatNanos = this.timeout.toNanos() / HEARTBEATS_PER_TIMEOUT;
		long lookNanos = this.pollInterval.toNanos();
		long lastHeartbeat = System.nanoTime();
		long lastLook = lastHeartbeat;
		long heartbeats = 0;
		boolean reachable = true;
		// whichever comes first: a long poll interval must not keep the heartbeat waiting
		while (!isCounted(stop, Math.min(lookNanos, heartbeatNanos))) {
			try {
				if (!reachable || System.nanoTime() - lastHeartbeat >= heartbeatNanos) {
					heartbeat(heartbeats % HEARTBEATS_PER_TIMEOUT == 0);
					heartbeats++;
					lastHeartbeat = System.nanoTime();
				}
				if (!reachable || System.nanoTime() - lastLook >= lookNanos) {
					suspects = look(suspects);
					lastLook = System.nanoTime();
				}
				for (Runnable task = this.whenReachable.peek(); task != null; task = this.whenReachable.peek()) {
					task.run();
					this.whenReachable.remove();
				}
				if (!reachable) {
					logger.info("Consumer {} looks for work again", this.id);
				}
				reachable = true;
			}
			catch (RuntimeException ex) {
				if (reachable) {
					logger.warn("Consumer {} cannot look for work and goes on trying: {}", this.id, ex.toString());
				}
				reachable = false;
			}
		}
	}

	private static boolean isCounted(CountDownLatch stop, long nanos) {
		try {
			return stop.await(nanos, TimeUnit.NANOSECONDS);
		}
		catch (InterruptedException ex) {
			return true;
		}
	}

	/** What nobody owns is rare: a process must have died between two statements. */
	private void heartbeat(boolean looksForOrphans) {
		if (!this.store.heartbeat(this.id)) {
			logger.warn("Consumer {} was taken for dead, since it was silent for more than {}. Its cursors were freed; "
					+ "it registers anew.", this.id, this.timeout);
			register();
			this.members
				.forEach((listener, member) -> this.store.join(this.id, listener, member.groupId(), member.types()));
		}
		if (looksForOrphans) {
			this.store.freeOrphans();
		}
	}

	/**
	 * Looks for work and for the dead. One whose lock is gone is buried when it is seen
	 * so twice: it may just be connecting anew.
	 */
	private Set<Integer> look(Set<Integer> suspects) {
		List<Integer> groupIds = new ArrayList<>();
		this.members.values().forEach((member) -> groupIds.add(member.groupId()));
		Sight sight = this.store.look(this.id, groupIds);
		sight.groupsWithWork().forEach((groupId) -> wakeGroup(groupId, WakeUpCause.POLL));
		sight.groupsWithBackfills().forEach(this::backfill);
		for (int dead : sight.dead()) {
			int freed = suspects.contains(dead) ? this.store.bury(dead) : -1;
			if (freed >= 0) {
				this.whenBuried.forEach((task) -> task.accept(dead));
				logger.warn("Consumer {} is dead; {} cursor(s) it held are free", dead, freed);
				this.members.values().forEach((member) -> member.signal().published(WakeUpCause.POLL));
			}
		}
		return new HashSet<>(sight.dead());
	}

	/**
	 * A listener that takes part in a group.
	 *
	 * @param groupId the group
	 * @param group its name
	 * @param streamIds its streams
	 * @param types the types it handles, or {@code null} for every type
	 * @param signal wakes its workers
	 */
	record Member(int groupId, String group, Set<Integer> streamIds, @Nullable Set<String> types, WorkSignal signal) {

	}

}
