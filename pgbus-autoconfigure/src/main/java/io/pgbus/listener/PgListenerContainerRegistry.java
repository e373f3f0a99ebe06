package io.pgbus.listener;

import java.util.Collection;

import org.jspecify.annotations.Nullable;

import org.springframework.context.SmartLifecycle;

/**
 * The containers of an application: those of annotated methods, and those registered at
 * run time. Starting and stopping it starts and stops them.
 *
 * @since 0.1.0
 */
public interface PgListenerContainerRegistry extends SmartLifecycle {

	/**
	 * Makes a container. It starts at once if the registry is running and the endpoint
	 * starts by itself.
	 * @param endpoint what to run
	 * @return the container
	 * @throws IllegalArgumentException if there is a listener with this id, or one with
	 * this group that takes the same events, or events that are in another database
	 */
	PgListenerContainer register(PgListenerEndpoint endpoint);

	/**
	 * Stops a container, waits for the events it handles, and forgets it. Its group
	 * stays.
	 * @param id the id of the listener
	 * @return whether there was one
	 */
	boolean unregister(String id);

	/**
	 * Returns a container.
	 * @param id the id of the listener
	 * @return the container, or {@code null}
	 */
	@Nullable PgListenerContainer find(String id);

	/**
	 * Returns the containers.
	 * @return a copy, by id
	 */
	Collection<PgListenerContainer> containers();

	/**
	 * Pauses every container.
	 */
	default void pause() {
		containers().forEach(PgListenerContainer::pause);
	}

	/**
	 * Resumes every container.
	 */
	default void resume() {
		containers().forEach(PgListenerContainer::resume);
	}

}
