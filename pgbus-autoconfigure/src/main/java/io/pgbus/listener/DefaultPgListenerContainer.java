package io.pgbus.listener;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import io.pgbus.DeliveryMode;
import io.pgbus.EventErrorHandler;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.listener.PgListenerContainerEvent.Change;
import io.pgbus.listener.TableSubscriptions.Subscribed;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.ChunkFailures;
import io.pgbus.store.ChunkStore;
import io.pgbus.store.CursorStore;
import io.pgbus.store.EventFilter;
import io.pgbus.store.GroupStore.GroupIds;
import io.pgbus.store.Subscription;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.util.backoff.BackOffExecution;
import org.springframework.util.backoff.ExponentialBackOff;

/**
 * A container with a fixed number of workers, which share its cursors. It never dies:
 * what fails around a handler is tried again, more slowly, until it works.
 */
final class DefaultPgListenerContainer implements PgListenerContainer {

	private static final Logger logger = LoggerFactory.getLogger(DefaultPgListenerContainer.class);

	private final PgListenerEndpoint endpoint;

	private final ListenerRuntime runtime;

	private final DeliveryMode delivery;

	private final int concurrency;

	private final WorkSignal signal;

	private final CursorBackOff cursorBackOff;

	private final ContainerEvents events;

	private final Idleness idleness;

	private final Object monitor = new Object();

	private final AtomicInteger runningWorkers = new AtomicInteger();

	private volatile boolean running;

	private volatile boolean paused;

	/** Not null: the last thing around a handler that was tried failed. */
	private volatile @Nullable BackOffExecution backOff;

	private volatile int groupId;

	private CompletableFuture<?> ended = CompletableFuture.completedFuture(null);

	private final ThreadLocal<Boolean> isWorker = ThreadLocal.withInitial(() -> false);

	DefaultPgListenerContainer(PgListenerEndpoint endpoint, ListenerRuntime runtime) {
		this.endpoint = endpoint;
		this.runtime = runtime;
		this.delivery = deliveryOf(endpoint, runtime);
		this.concurrency = (endpoint.concurrency() != null) ? endpoint.concurrency() : runtime.defaults().concurrency();
		this.signal = new WorkSignal(this.concurrency,
				(cause) -> runtime.instruments().metrics().wokenUp(endpoint.group(), cause));
		this.cursorBackOff = new CursorBackOff(endpoint.id(), this::tellWhetherItBacksOff);
		this.events = new ContainerEvents(this, runtime.instruments().events());
		this.idleness = new Idleness(runtime.defaults().idleEventInterval());
	}

	private static DeliveryMode deliveryOf(PgListenerEndpoint endpoint, ListenerRuntime runtime) {
		String obstacle = null;
		if (endpoint.asynchronous()) {
			obstacle = "finishes its work elsewhere, so it cannot be EXACTLY_ONCE: the transaction would be committed "
					+ "before the work is done. Use AT_LEAST_ONCE, or handle events before the method returns.";
		}
		if (obstacle == null) {
			return (endpoint.delivery() != null) ? endpoint.delivery() : runtime.defaults().delivery();
		}
		if (endpoint.delivery() == DeliveryMode.EXACTLY_ONCE) {
			throw new IllegalArgumentException("The listener \"" + endpoint.id() + "\" " + obstacle);
		}
		return DeliveryMode.AT_LEAST_ONCE;
	}

	@Override
	public PgListenerEndpoint endpoint() {
		return this.endpoint;
	}

	@Override
	public boolean isAutoStartup() {
		return this.endpoint.autoStartup();
	}

	@Override
	public State state() {
		if (!this.running) {
			return (this.runningWorkers.get() > 0) ? State.STOPPING : State.STOPPED;
		}
		if (this.paused) {
			return State.PAUSED;
		}
		return isBackingOff() ? State.BACKING_OFF : State.RUNNING;
	}

	private boolean isBackingOff() {
		return this.backOff != null || this.cursorBackOff.isActive();
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public void start() {
		// a stop that is under way needs the monitor to come to its end
		awaitEnd();
		synchronized (this.monitor) {
			if (this.running) {
				return;
			}
			ContainerWork work = prepare();
			this.backOff = null;
			this.idleness.restart();
			this.running = true;
			SimpleAsyncTaskExecutor executor = new SimpleAsyncTaskExecutor("pgbus-" + id() + "-");
			if (this.runtime.virtualThreads()) {
				executor.setVirtualThreads(true);
			}
			this.runningWorkers.set(this.concurrency);
			CompletableFuture<?>[] workers = IntStream.range(0, this.concurrency)
				.mapToObj((index) -> executor.submitCompletable(worker(work)))
				.toArray(CompletableFuture[]::new);
			this.signal.mayHaveBackfill();
			this.ended = CompletableFuture.allOf(workers).whenComplete((nothing, failure) -> left());
			this.signal.wakeOne();
		}
		logger.info("Listener {} listens as group {} to {}", id(), this.endpoint.group(),
				this.endpoint.tables().isEmpty() ? this.endpoint.streams() : this.endpoint.tables());
		this.events.started();
	}

	private ContainerWork prepare() {
		ListenerDefaults defaults = this.runtime.defaults();
		Source source = source();
		StartPosition start = (this.endpoint.start() != null) ? this.endpoint.start() : defaults.start();
		GroupIds ids = this.runtime.groups().create(this.endpoint.group(), source.streams(), start);
		this.groupId = ids.groupId();
		BusDatabase database = this.runtime.database();
		Subscription subscription = new Subscription(ids.groupId(), ids.streamIds(), this.endpoint.types(),
				source.filter(), defaults.batchSize(), defaults.batchBytes().toBytes(),
				this.runtime.inbox() != null && this.delivery == DeliveryMode.EXACTLY_ONCE);
		HandlerScope scope = new HandlerScope(this.endpoint, this.runtime.converter(), this.runtime.instruments());
		boolean oneCall = this.endpoint.batch() || groupSize() == 1;
		HandlerInvoker handler = new HandlerInvoker(this.endpoint, ids.groupId(), this.runtime.converter(),
				oneCall ? null : scope);
		Delivery delivery = delivery(handler);
		ContainerWork work = new ContainerWork(timed(new CursorStore(database, subscription)),
				timed(CursorStore.unfiltered(database, subscription)), filter(source.filter()), this.runtime.failures(),
				handler, watched(oneCall ? new ScopedDelivery(delivery, scope) : delivery), policy(),
				this.endpoint.types(), defaults.batchSize(), groupSize(), this.cursorBackOff, this::takesWork,
				chunks(ids));
		// the last, so that one that cannot start takes part in nothing
		consumer().start();
		consumer().join(id(), new BusConsumer.Member(ids.groupId(), this.endpoint.group(),
				Set.copyOf(new HashSet<>(ids.streamIds())), this.endpoint.types(), this.signal));
		return work;
	}

	private @Nullable Chunks chunks(GroupIds ids) {
		if (this.endpoint.tables().isEmpty()) {
			return null;
		}
		BusDatabase database = this.runtime.database();
		return new Chunks(new ChunkStore(database, ids.groupId(), ids.streamIds()),
				new ChunkFailures(database, this.runtime.failures(), ids.groupId()));
	}

	private Source source() {
		if (this.endpoint.tables().isEmpty()) {
			if (this.endpoint.filter() != null) {
				EventFilter.check(this.runtime.database(), this.endpoint.filter());
			}
			return new Source(this.endpoint.streams(), this.endpoint.filter());
		}
		if (this.runtime.tables() == null) {
			throw new IllegalArgumentException(
					"The listener \"" + id() + "\" cannot listen to tables: this instance has no TableSubscriptions.");
		}
		Subscribed subscribed = this.runtime.tables().subscribe(this.endpoint.group(), this.endpoint.tables());
		return new Source(subscribed.streams(), subscribed.filter());
	}

	private TimedCursors timed(CursorStore cursors) {
		return new TimedCursors(cursors, this.endpoint.group(), this.runtime.instruments().metrics());
	}

	private Delivery watched(Delivery delivery) {
		ListenerMetrics metrics = this.runtime.instruments().metrics();
		return this.idleness.watching((metrics != ListenerMetrics.NONE)
				? new CountedDelivery(delivery, this.endpoint.group(), metrics) : delivery);
	}

	private ContainerWork.@Nullable Filter filter(@Nullable String filter) {
		return (filter != null)
				? (claim, event) -> EventFilter.matches(this.runtime.database(), filter, claim, event.id()) : null;
	}

	private Delivery delivery(HandlerInvoker handler) {
		if (this.delivery == DeliveryMode.AT_LEAST_ONCE) {
			return new AtLeastOnceDelivery(handler, this.runtime.failures());
		}
		if (this.runtime.transactionManager() == null) {
			throw new IllegalArgumentException("The listener \"" + id()
					+ "\" cannot be EXACTLY_ONCE: the application has no "
					+ "transaction manager for the bus's DataSource, so what the handler does and that it is done are no one "
					+ "transaction. Use AT_LEAST_ONCE, or let the bus live in the application's DataSource.");
		}
		if (this.runtime.inbox() == null) {
			return new ExactlyOnceDelivery(handler, this.runtime.ledger(), this.runtime.failures(),
					this.runtime.transactionManager(), this.runtime.database().readCommitted());
		}
		return new InboxDelivery(handler, this.runtime.inbox(), this.runtime.failures(),
				this.runtime.transactionManager(), this.runtime.inbox().database().readCommitted());
	}

	private FailurePolicy policy() {
		RetryPolicy retry = (this.endpoint.retry() != null) ? this.endpoint.retry() : this.runtime.defaults().retry();
		EventErrorHandler errorHandler = (this.endpoint.errorHandler() != null) ? this.endpoint.errorHandler()
				: this.runtime.errorHandler();
		return new FailurePolicy(this.endpoint.group(), retry, errorHandler, this.runtime.deadLetterListeners(),
				this.runtime.instruments().metrics());
	}

	private int groupSize() {
		if (this.endpoint.batch()) {
			return this.runtime.defaults().batchSize();
		}
		return (this.delivery == DeliveryMode.EXACTLY_ONCE) ? this.runtime.defaults().eventsPerTransaction() : 1;
	}

	private Runnable worker(ContainerWork work) {
		Worker worker = new Worker(this, work, consumer().nextWorker());
		return () -> {
			this.isWorker.set(true);
			try {
				worker.run();
			}
			finally {
				this.isWorker.remove();
				this.runningWorkers.decrementAndGet();
			}
		};
	}

	private void left() {
		try {
			consumer().leave(id());
		}
		catch (RuntimeException ex) {
			consumer().whenReachable(() -> {
				if (!this.running) {
					consumer().leave(id());
				}
			});
		}
		logger.info("Listener {} has stopped", id());
		// who is told may start it again, which must not wait for this thread
		boolean before = this.isWorker.get();
		this.isWorker.set(true);
		this.events.tell(Change.STOPPED);
		this.isWorker.set(before);
	}

	@Override
	public void stop() {
		beginStop();
		awaitEnd();
	}

	private void awaitEnd() {
		CompletableFuture<?> end;
		synchronized (this.monitor) {
			end = this.running ? CompletableFuture.completedFuture(null) : this.ended;
		}
		// a handler that stops its own container cannot wait for itself
		if (!this.isWorker.get()) {
			end.exceptionally((failure) -> null).join();
		}
	}

	@Override
	public void stop(Runnable callback) {
		beginStop();
		synchronized (this.monitor) {
			this.ended = this.ended.whenComplete((nothing, failure) -> callback.run());
		}
	}

	private void beginStop() {
		synchronized (this.monitor) {
			this.running = false;
			this.signal.wakeAll();
			this.monitor.notifyAll();
		}
	}

	@Override
	public void pause() {
		synchronized (this.monitor) {
			if (this.paused) {
				return;
			}
			this.paused = true;
		}
		logger.info("Listener {} is paused", id());
		this.events.tell(Change.PAUSED);
	}

	@Override
	public void resume() {
		synchronized (this.monitor) {
			if (!this.paused) {
				return;
			}
			this.paused = false;
			this.idleness.restart();
			this.monitor.notifyAll();
		}
		this.signal.wakeOne();
		logger.info("Listener {} is resumed", id());
		this.events.tell(Change.RESUMED);
	}

	BusConsumer consumer() {
		return this.runtime.consumer();
	}

	WorkSignal signal() {
		return this.signal;
	}

	ListenerMetrics metrics() {
		return this.runtime.instruments().metrics();
	}

	int groupId() {
		return this.groupId;
	}

	private boolean takesWork() {
		return this.running && !this.paused;
	}

	/**
	 * Waits until a worker is to look for work: for a signal, or after trouble for a
	 * while. The worker is up then, for the signal too, until it says that it is done.
	 * @return {@code false} if the container stops
	 */
	boolean awaitWork() {
		boolean isUp = false;
		boolean goesOn = false;
		try {
			BackOffExecution trouble = this.backOff;
			if (trouble == null) {
				this.signal.await(this.idleness.nanosLeft());
			}
			else {
				this.signal.begins();
			}
			isUp = true;
			synchronized (this.monitor) {
				if (trouble != null) {
					pauseFor(trouble.nextBackOff());
				}
				while (this.running && this.paused) {
					this.monitor.wait();
				}
			}
			goesOn = this.running;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		if (isUp && !goesOn) {
			this.signal.ends();
		}
		return goesOn;
	}

	private void pauseFor(long millis) throws InterruptedException {
		long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
		for (long left = millis; this.running
				&& left > 0; left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())) {
			this.monitor.wait(left);
		}
	}

	void troubled(Throwable trouble) {
		synchronized (this.monitor) {
			if (this.backOff == null) {
				ExponentialBackOff times = new ExponentialBackOff(100, 2);
				times.setMaxInterval(10_000);
				this.backOff = times.start();
				logger.warn("Listener {} cannot go on and tries again: {}", id(), trouble.toString(), trouble);
			}
		}
		tellWhetherItBacksOff(trouble);
	}

	private void tellWhetherItBacksOff(@Nullable Throwable failure) {
		this.events.backingOff(isBackingOff(), failure);
	}

	/** There is no work just now, and no trouble. */
	void foundNothing() {
		recovered();
		if (takesWork() && this.idleness.begins()) {
			this.events.tell(Change.IDLE);
		}
	}

	void recovered() {
		if (this.backOff != null) {
			synchronized (this.monitor) {
				if (this.backOff != null) {
					this.backOff = null;
					logger.info("Listener {} goes on", id());
				}
			}
			// those that slept meanwhile have missed their signals
			this.signal.wakeAll();
			tellWhetherItBacksOff(null);
		}
	}

	/**
	 * Where events come from.
	 *
	 * @param streams the streams
	 * @param filter a condition on their events, or {@code null} for none
	 */
	private record Source(List<String> streams, @Nullable String filter) {

	}

}
