package io.pgbus.listener;

import java.util.concurrent.atomic.AtomicBoolean;

import io.pgbus.listener.PgListenerContainerEvent.Change;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.context.ApplicationEventPublisher;

/**
 * Tells the application of a container's changes. Whatever listeners of these events do,
 * the container goes on.
 */
final class ContainerEvents {

	private static final Logger logger = LoggerFactory.getLogger(ContainerEvents.class);

	private final PgListenerContainer container;

	private final ApplicationEventPublisher publisher;

	private final AtomicBoolean backingOff = new AtomicBoolean();

	ContainerEvents(PgListenerContainer container, ApplicationEventPublisher publisher) {
		this.container = container;
		this.publisher = publisher;
	}

	void tell(Change change) {
		tell(change, null);
	}

	/** A new start has no past. */
	void started() {
		this.backingOff.set(false);
		tell(Change.STARTED);
	}

	/** Tells whether the container is backing off if that has changed. */
	void backingOff(boolean now, @Nullable Throwable failure) {
		if (this.backingOff.compareAndSet(!now, now)) {
			tell(now ? Change.BACKING_OFF : Change.RECOVERED, failure);
		}
	}

	private void tell(Change change, @Nullable Throwable failure) {
		try {
			this.publisher.publishEvent(new PgListenerContainerEvent(this.container, change, failure));
		}
		catch (RuntimeException ex) {
			logger.warn("Whoever was told that listener {} is {} failed: {}", this.container.id(), change,
					ex.toString(), ex);
		}
	}

}
