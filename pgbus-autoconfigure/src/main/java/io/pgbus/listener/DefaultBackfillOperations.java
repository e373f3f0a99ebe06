package io.pgbus.listener;

import java.util.List;
import java.util.Optional;

import io.pgbus.BackfillInfo;
import io.pgbus.BackfillOperations;
import io.pgbus.BackfillRequest;
import io.pgbus.listener.ListenerMetrics.WakeUpCause;
import io.pgbus.store.BackfillStore;

/**
 * Backfills that the application asks for. The listeners of this instance begin at once,
 * those of others when they look for work.
 *
 * @since 0.1.0
 */
public final class DefaultBackfillOperations implements BackfillOperations {

	private final BackfillStore backfills;

	private final BusConsumer consumer;

	/**
	 * Creates the operations.
	 * @param backfills the store
	 * @param consumer this application instance
	 */
	public DefaultBackfillOperations(BackfillStore backfills, BusConsumer consumer) {
		this.backfills = backfills;
		this.consumer = consumer;
	}

	@Override
	public BackfillInfo start(String group, BackfillRequest request) {
		return wake(this.backfills.start(group, request));
	}

	@Override
	public BackfillInfo pause(long id) {
		return this.backfills.pause(id);
	}

	@Override
	public BackfillInfo resume(long id) {
		return wake(this.backfills.resume(id));
	}

	@Override
	public BackfillInfo cancel(long id) {
		return wake(this.backfills.cancel(id));
	}

	@Override
	public BackfillInfo restart(long id) {
		return wake(this.backfills.restart(id));
	}

	@Override
	public Optional<BackfillInfo> find(long id) {
		return this.backfills.find(id);
	}

	@Override
	public List<BackfillInfo> list(String group) {
		return this.backfills.list(group);
	}

	private BackfillInfo wake(BackfillInfo info) {
		this.consumer.backfill(info.group(), WakeUpCause.PUBLISH);
		return info;
	}

}
