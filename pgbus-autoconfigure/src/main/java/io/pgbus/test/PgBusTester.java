package io.pgbus.test;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.DeliveryMode;
import io.pgbus.StartPosition;
import io.pgbus.listener.PgListenerContainer;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.store.IdleStore;
import org.jspecify.annotations.Nullable;

/**
 * Lets a test wait for listeners, and see what is published: <pre class="code">
 * try (CapturedEvents captured = tester.capture("orders")) {
 *     orders.place(order);
 *     tester.awaitHandled();
 *     assertThat(captured.events()).extracting(Event::type).containsExactly("order.placed");
 * }
 * </pre> A bean of this type is there in tests annotated with
 * {@link AutoConfigurePgBusTester}.
 *
 * @since 0.1.0
 */
public final class PgBusTester implements AutoCloseable {

	static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);

	private static final long LOOK_AGAIN_MILLIS = 20;

	private final IdleStore idle;

	private final @Nullable IdleStore outboxIdle;

	private final PgListenerContainerRegistry registry;

	private final ConsumerGroupOperations groups;

	private final AtomicInteger captures = new AtomicInteger();

	private final Set<CapturedEvents> open = ConcurrentHashMap.newKeySet();

	/**
	 * Creates a tester.
	 * @param idle tells what is still to do
	 * @param outboxIdle tells what is still to do for the outbox, or {@code null} if
	 * there is none
	 * @param registry runs the listeners that capture events
	 * @param groups deletes the groups of those listeners
	 */
	public PgBusTester(IdleStore idle, @Nullable IdleStore outboxIdle, PgListenerContainerRegistry registry,
			ConsumerGroupOperations groups) {
		this.idle = idle;
		this.outboxIdle = outboxIdle;
		this.registry = registry;
		this.groups = groups;
	}

	/**
	 * Waits for up to 30 seconds until every group that has a running listener has
	 * handled everything that is committed; see {@link #awaitHandled(Duration)}.
	 */
	public void awaitHandled() {
		awaitHandled(DEFAULT_TIMEOUT);
	}

	/**
	 * Waits until every group that has a running listener, in this application or
	 * another, has handled everything that is committed. Events that handlers publish
	 * meanwhile count as well. Events that are retried are waited for, dead ones are not.
	 * @param timeout how long to wait at most
	 * @throws AssertionError if that is not long enough, with what is still to do
	 */
	public void awaitHandled(Duration timeout) {
		await(timeout, () -> {
			List<String> busy = busy();
			return busy.isEmpty() ? null : "Not everything was handled: " + busy;
		});
	}

	/**
	 * The outbox comes first and last: what it has carried is on the bus when that is
	 * looked at, and what handlers have published then is in it.
	 */
	private List<String> busy() {
		List<String> busy = inOutbox();
		busy = busy.isEmpty() ? this.idle.busy() : busy;
		return busy.isEmpty() ? inOutbox() : busy;
	}

	private List<String> inOutbox() {
		return (this.outboxIdle != null) ? this.outboxIdle.busy() : List.of();
	}

	/**
	 * Starts to capture the events of streams, beginning with the next that is committed.
	 * The group that does so is a group like others, with a name of its own. It is
	 * deleted when the capture is closed, or else with the application.
	 * @param streams the names of the streams, at least one; those that do not exist are
	 * made
	 * @return what is captured, to be closed when it is not needed any more
	 */
	public CapturedEvents capture(String... streams) {
		String group = "pgbus-tester-" + ProcessHandle.current().pid() + "-" + System.nanoTime() + "-"
				+ this.captures.incrementAndGet();
		CapturedEvents captured = new CapturedEvents((closed) -> {
			if (this.open.remove(closed)) {
				this.registry.unregister(group);
				// It is nobody else's. Forced, as a stop during an outage leaves traces.
				this.groups.deleteGroup(group, true);
			}
		});
		// It has no effects in the database, so it needs no transaction of the
		// application.
		PgListenerContainer container = this.registry.register(PgListenerEndpoint.id(group)
			.streams(streams)
			.start(StartPosition.latest())
			.delivery(DeliveryMode.AT_LEAST_ONCE)
			.onEvent(String.class, captured::add));
		// Also where the application is not (yet) started.
		container.start();
		this.open.add(captured);
		return captured;
	}

	/**
	 * Closes what still captures.
	 */
	@Override
	public void close() {
		this.open.forEach(CapturedEvents::close);
	}

	/**
	 * Looks until nothing is missing.
	 */
	static void await(Duration timeout, Supplier<@Nullable String> missing) {
		long end = System.nanoTime() + timeout.toNanos();
		String what = missing.get();
		while (what != null) {
			if (System.nanoTime() - end > 0) {
				throw new AssertionError(what + " (after " + timeout + ")");
			}
			try {
				Thread.sleep(LOOK_AGAIN_MILLIS);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new AssertionError("Interrupted. " + what, ex);
			}
			what = missing.get();
		}
	}

}
