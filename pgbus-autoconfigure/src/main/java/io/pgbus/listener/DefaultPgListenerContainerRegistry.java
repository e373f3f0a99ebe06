package io.pgbus.listener;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.concurrent.atomic.AtomicInteger;

import io.pgbus.ListenedTable;
import org.jspecify.annotations.Nullable;

/**
 * The {@link PgListenerContainerRegistry}.
 *
 * @since 0.1.0
 */
public final class DefaultPgListenerContainerRegistry implements PgListenerContainerRegistry {

	/** Stops before what handlers may use, and starts after it. */
	private static final int PHASE = Integer.MAX_VALUE - 100;

	private final ListenerRuntime runtime;

	private final ListenerRuntime tables;

	/** By id: the JVM gives the methods of a class in any order. */
	private final Map<String, PgListenerContainer> containers = new TreeMap<>();

	private volatile boolean running;

	/**
	 * Creates a registry.
	 * @param runtime what the containers share
	 */
	public DefaultPgListenerContainerRegistry(ListenerRuntime runtime) {
		this(runtime, runtime);
	}

	/**
	 * Creates a registry whose containers may have their events from two logs.
	 * @param runtime what the containers of streams share
	 * @param tables what the containers of tables share, perhaps the same
	 */
	public DefaultPgListenerContainerRegistry(ListenerRuntime runtime, ListenerRuntime tables) {
		this.runtime = runtime;
		this.tables = tables;
	}

	@Override
	public PgListenerContainer register(PgListenerEndpoint endpoint) {
		if (!endpoint.tables().isEmpty() && endpoint.group().equals(OutboxRelay.GROUP)) {
			throw new IllegalArgumentException("The group \"" + OutboxRelay.GROUP
					+ "\" is the one that carries events to the bus. Give the listener \"" + endpoint.id()
					+ "\" another.");
		}
		PgListenerContainer container = new DefaultPgListenerContainer(endpoint, runtimeOf(endpoint));
		synchronized (this.containers) {
			if (this.containers.containsKey(endpoint.id())) {
				throw new IllegalArgumentException(
						"There are two listeners with the id \"" + endpoint.id() + "\". Give one of them another.");
			}
			this.containers.values().forEach((other) -> checkOverlap(endpoint, other.endpoint()));
			this.containers.put(endpoint.id(), container);
		}
		if (this.running && container.isAutoStartup()) {
			container.start();
		}
		return container;
	}

	private ListenerRuntime runtimeOf(PgListenerEndpoint endpoint) {
		return endpoint.tables().isEmpty() ? this.runtime : this.tables;
	}

	/**
	 * Listeners of one group share its events. That is well if each type has one
	 * listener; it is left for it by the others. A group is in one log.
	 */
	private void checkOverlap(PgListenerEndpoint endpoint, PgListenerEndpoint other) {
		if (endpoint.group().equals(other.group()) && !runtimeOf(endpoint).equals(runtimeOf(other))) {
			throw new IllegalArgumentException(
					("The listeners \"%s\" and \"%s\" have the group \"%s\", but one listens "
							+ "to tables, which are in the application's database, and the other to streams, which are on the "
							+ "bus in another one. A group is in one of them: give one of the listeners another group.")
						.formatted(other.id(), endpoint.id(), endpoint.group()));
		}
		boolean together = endpoint.group().equals(other.group())
				&& (!Collections.disjoint(endpoint.streams(), other.streams())
						|| !Collections.disjoint(tables(endpoint), tables(other)));
		if (together && overlap(endpoint.types(), other.types())) {
			throw new IllegalArgumentException(
					("The listeners \"%s\" and \"%s\" have the group \"%s\" and streams or tables in common, "
							+ "and handle the same types of events, so each event would reach one of them by chance. Give them "
							+ "different groups if both shall have every event, or different types if they shall share them.")
						.formatted(other.id(), endpoint.id(), endpoint.group()));
		}
	}

	private static Set<String> tables(PgListenerEndpoint endpoint) {
		return endpoint.tables().stream().map(ListenedTable::name).collect(Collectors.toSet());
	}

	private static boolean overlap(@Nullable Set<String> types, @Nullable Set<String> others) {
		return types == null || others == null || !Collections.disjoint(types, others);
	}

	@Override
	public boolean unregister(String id) {
		PgListenerContainer container;
		synchronized (this.containers) {
			container = this.containers.remove(id);
		}
		if (container == null) {
			return false;
		}
		container.stop();
		return true;
	}

	@Override
	public @Nullable PgListenerContainer find(String id) {
		synchronized (this.containers) {
			return this.containers.get(id);
		}
	}

	@Override
	public Collection<PgListenerContainer> containers() {
		synchronized (this.containers) {
			return List.copyOf(this.containers.values());
		}
	}

	@Override
	public void start() {
		this.running = true;
		containers().stream().filter(PgListenerContainer::isAutoStartup).forEach(PgListenerContainer::start);
	}

	@Override
	public void stop() {
		this.running = false;
		List<PgListenerContainer> toStop = new ArrayList<>(containers());
		// all begin to stop before the first is waited for
		toStop.forEach((container) -> container.stop(() -> {
		}));
		toStop.forEach(PgListenerContainer::stop);
		stopConsumers();
	}

	private void stopConsumers() {
		this.runtime.consumer().stop();
		this.tables.consumer().stop();
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
		Collection<PgListenerContainer> toStop = containers();
		AtomicInteger left = new AtomicInteger(toStop.size() + 1);
		Runnable oneIsDone = () -> {
			if (left.decrementAndGet() == 0) {
				stopConsumers();
				callback.run();
			}
		};
		toStop.forEach((container) -> container.stop(oneIsDone));
		oneIsDone.run();
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
