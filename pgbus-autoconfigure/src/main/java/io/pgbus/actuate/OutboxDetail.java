package io.pgbus.actuate;

import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerContainer;
import io.pgbus.store.GroupStatus;
import io.pgbus.store.GroupStatus.FailureCounts;
import org.jspecify.annotations.Nullable;

/**
 * The outbox of an application whose bus is in another database.
 *
 * @param state what this instance is doing with it
 * @param estimatedLag how many events wait to be carried to the bus
 * @param lagSeconds the age of the oldest of them, 0 if none waits
 * @param failures events that could not be carried yet, by state
 * @param busFailure why the bus cannot be looked at, so that there is nothing else to
 * show, or {@code null} if it can
 * @since 0.1.0
 */
public record OutboxDetail(PgListenerContainer.State state, long estimatedLag, double lagSeconds,
		FailureCounts failures, @Nullable String busFailure) {

	static OutboxDetail of(OutboxRelay relay, @Nullable Throwable busFailure) {
		GroupStatus status = relay.status();
		String reason = (busFailure != null) ? busFailure.toString() : null;
		return (status != null)
				? new OutboxDetail(relay.state(), status.estimatedLag(), status.lagSeconds(), status.failures(), reason)
				: new OutboxDetail(relay.state(), 0, 0, new FailureCounts(0, 0, 0), reason);
	}

}
