package io.pgbus.actuate;

import io.pgbus.listener.BusConsumer;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.BusStatus;
import io.pgbus.store.FailureChanges;
import io.pgbus.store.FailureList;
import io.pgbus.store.PublishedTable;

/**
 * One log as operators see it: the bus, or the outbox with the groups that listen to
 * tables. What the outbox has on the way to the bus is shown elsewhere.
 *
 * @param isOutbox whether it is the outbox
 * @param status the state of the log
 * @param failures its failed events
 * @param changes what can be done to them
 * @param consumer this instance as others see it there
 */
record LogSide(boolean isOutbox, BusStatus status, FailureList failures, FailureChanges changes, BusConsumer consumer) {

	static LogSide ofBus(BusDatabase database, BusConsumer consumer) {
		return of(false, database, consumer);
	}

	static LogSide of(OutboxRelay outbox) {
		return of(true, outbox.database(), outbox.consumer());
	}

	private static LogSide of(boolean isOutbox, BusDatabase database, BusConsumer consumer) {
		return new LogSide(isOutbox, new BusStatus(database), new FailureList(database), new FailureChanges(database),
				consumer);
	}

	boolean hasGroup(String group) {
		return isShown(group) && this.status.hasGroup(group);
	}

	private boolean isShown(String group) {
		return !this.isOutbox || !group.equals(OutboxRelay.GROUP);
	}

	Overview.Log overview() {
		return new Overview.Log(
				this.status.streams(Overview.LIMIT)
					.stream()
					.filter((stream) -> !this.isOutbox || PublishedTable.isStreamOfTable(stream.stream()))
					.toList(),
				this.status.groups(Overview.LIMIT).stream().filter((group) -> isShown(group.group())).toList(),
				this.status.consumers(Overview.LIMIT));
	}

}
