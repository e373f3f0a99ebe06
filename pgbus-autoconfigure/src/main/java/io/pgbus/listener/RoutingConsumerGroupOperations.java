package io.pgbus.listener;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.Event;
import io.pgbus.GroupInfo;
import io.pgbus.PendingEvents;
import io.pgbus.StartPosition;
import io.pgbus.StreamInfo;
import io.pgbus.store.BusStatus;
import io.pgbus.store.PublishedTable;

/**
 * Operations on groups where the bus is in another database than the application's: each
 * is done where the group is. The application's own groups are those that listen to
 * tables; what is called by the same name on the bus is another's.
 *
 * @since 0.1.0
 */
public final class RoutingConsumerGroupOperations implements ConsumerGroupOperations {

	private final ConsumerGroupOperations bus;

	private final ConsumerGroupOperations own;

	private final BusStatus ownStatus;

	/**
	 * Creates the operations.
	 * @param bus operations on the groups of the bus
	 * @param own operations on the groups in the application's database
	 * @param ownStatus tells which groups are there
	 */
	public RoutingConsumerGroupOperations(ConsumerGroupOperations bus, ConsumerGroupOperations own,
			BusStatus ownStatus) {
		this.bus = bus;
		this.own = own;
		this.ownStatus = ownStatus;
	}

	private ConsumerGroupOperations of(String group) {
		return (!OutboxRelay.GROUP.equals(group) && this.ownStatus.hasGroup(group)) ? this.own : this.bus;
	}

	private ConsumerGroupOperations ofStream(String stream) {
		return PublishedTable.isStreamOfTable(stream) ? this.own : this.bus;
	}

	@Override
	public List<Event<String>> read(String group, String consumer, int count) {
		return of(group).read(group, consumer, count);
	}

	@Override
	public void acknowledge(String group, String consumer, Collection<Long> eventIds) {
		of(group).acknowledge(group, consumer, eventIds);
	}

	@Override
	public List<Event<String>> claim(String group, String consumer, Duration minIdle, int count) {
		return of(group).claim(group, consumer, minIdle, count);
	}

	@Override
	public void removeConsumer(String group, String consumer) {
		of(group).removeConsumer(group, consumer);
	}

	@Override
	public List<PendingEvents> pending(String group) {
		return of(group).pending(group);
	}

	@Override
	public List<Event<String>> history(String stream, long fromId, long toId, int limit) {
		return ofStream(stream).history(stream, fromId, toId, limit);
	}

	@Override
	public List<Event<String>> history(String stream, Instant from, Instant to, int limit) {
		return ofStream(stream).history(stream, from, to, limit);
	}

	/** What is on its way to the bus is no stream to look at. */
	@Override
	public List<StreamInfo> streams() {
		return Stream
			.concat(this.own.streams().stream().filter((stream) -> PublishedTable.isStreamOfTable(stream.name())),
					this.bus.streams().stream())
			.sorted(Comparator.comparing(StreamInfo::name))
			.toList();
	}

	@Override
	public List<GroupInfo> groups() {
		return Stream
			.concat(this.own.groups().stream().filter((group) -> !group.name().equals(OutboxRelay.GROUP)),
					this.bus.groups().stream())
			.sorted(Comparator.comparing(GroupInfo::name))
			.toList();
	}

	@Override
	public void createGroup(String group, Collection<String> streams, StartPosition start) {
		List<String> ofTables = streams.stream().filter(PublishedTable::isStreamOfTable).toList();
		if (!ofTables.isEmpty() && ofTables.size() < streams.size()) {
			throw new IllegalArgumentException("The group \"" + group + "\" cannot have the streams " + ofTables
					+ " of tables, which are in the application's database, and others, which are on the bus in another "
					+ "one. Make two groups.");
		}
		(ofTables.isEmpty() ? this.bus : this.own).createGroup(group, streams, start);
	}

	@Override
	public void deleteGroup(String group, boolean force) {
		of(group).deleteGroup(group, force);
	}

	@Override
	public void seek(String group, StartPosition start, boolean force) {
		of(group).seek(group, start, force);
	}

	@Override
	public void pauseGroup(String group) {
		of(group).pauseGroup(group);
	}

	@Override
	public void resumeGroup(String group) {
		of(group).resumeGroup(group);
	}

}
