package io.pgbus.listener;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.Event;
import io.pgbus.GroupInfo;
import io.pgbus.PendingEvents;
import io.pgbus.StartPosition;
import io.pgbus.StreamInfo;
import io.pgbus.core.EventConverter;
import io.pgbus.store.AcknowledgmentStore;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.BusView;
import io.pgbus.store.Claim;
import io.pgbus.store.ConsumerStore;
import io.pgbus.store.FailureStore;
import io.pgbus.store.GroupChanges;
import io.pgbus.store.GroupStore;
import io.pgbus.store.HistoryStore;
import io.pgbus.store.PullStore;
import io.pgbus.store.PullStore.Puller;
import org.jspecify.annotations.Nullable;

import org.springframework.util.unit.DataSize;

/**
 * The {@link ConsumerGroupOperations}: checks what it is given and asks the stores.
 *
 * @since 0.1.0
 */
public class DefaultConsumerGroupOperations implements ConsumerGroupOperations {

	/** The silence after which a pull consumer is taken for dead by default. */
	public static final Duration DEFAULT_PULL_TIMEOUT = Duration.ofMinutes(5);

	private static final int MAX_NAME = 200;

	private final GroupStore groups;

	private final GroupChanges changes;

	private final ConsumerStore consumers;

	private final PullStore pulls;

	private final PullReader reader;

	private final AcknowledgmentStore acknowledgments;

	private final BusView view;

	private final HistoryStore history;

	private final EventConverter converter;

	private final Duration pullTimeout;

	/**
	 * Creates the operations.
	 * @param database the database
	 * @param groups makes groups
	 * @param converter reads events
	 * @param pullTimeout the silence after which a pull consumer is taken for dead
	 * @param batchBytes the most bytes of payload that one partition gives to a read, the
	 * first event aside
	 */
	public DefaultConsumerGroupOperations(BusDatabase database, GroupStore groups, EventConverter converter,
			Duration pullTimeout, DataSize batchBytes) {
		this.groups = groups;
		this.changes = new GroupChanges(database);
		this.consumers = new ConsumerStore(database);
		this.pulls = new PullStore(database, batchBytes.toBytes());
		this.reader = new PullReader(this.pulls, new FailureStore(database), converter);
		this.acknowledgments = new AcknowledgmentStore(database);
		this.view = new BusView(database);
		this.history = new HistoryStore(database);
		this.converter = converter;
		this.pullTimeout = pullTimeout;
	}

	@Override
	public List<Event<String>> read(String group, String consumer, int count) {
		checkCount(count);
		Puller puller = enter(group, consumer);
		// transactions that ended at the same time may have left it to this
		this.pulls.settle(group, consumer);
		IntFunction<@Nullable Claim> claims = (left) -> this.pulls.claimFree(puller, left);
		List<Event<String>> events = this.reader.collect(group, consumer, count, claims);
		return (events.isEmpty() && buryDead(puller)) ? this.reader.collect(group, consumer, count, claims) : events;
	}

	/** Where nobody listens, nobody else would. */
	private boolean buryDead(Puller puller) {
		boolean freed = false;
		for (int consumerId : this.pulls.silent(puller)) {
			freed |= this.consumers.bury(consumerId) > 0;
		}
		return freed;
	}

	@Override
	public void acknowledge(String group, String consumer, Collection<Long> eventIds) {
		checkName("group", group);
		checkName("consumer", consumer);
		Set<Long> distinct = new LinkedHashSet<>(eventIds);
		if (!distinct.isEmpty()) {
			this.acknowledgments.acknowledge(group, consumer, distinct);
		}
	}

	@Override
	public List<Event<String>> claim(String group, String consumer, Duration minIdle, int count) {
		checkCount(count);
		if (minIdle.isNegative()) {
			throw new IllegalArgumentException("minIdle is " + minIdle + ", but must not be negative");
		}
		Puller puller = enter(group, consumer);
		return this.reader.collect(group, consumer, count,
				(left) -> this.pulls.takeOver(puller, left, puller.now().minus(minIdle)));
	}

	private Puller enter(String group, String consumer) {
		checkName("group", group);
		checkName("consumer", consumer);
		return this.pulls.enter(group, consumer, this.pullTimeout);
	}

	@Override
	public void removeConsumer(String group, String consumer) {
		checkName("group", group);
		checkName("consumer", consumer);
		if (this.pulls.remove(group, consumer)) {
			this.consumers.freeOrphans();
		}
	}

	@Override
	public List<PendingEvents> pending(String group) {
		checkName("group", group);
		return this.view.pending(group, MAX_COUNT);
	}

	@Override
	public List<Event<String>> history(String stream, long fromId, long toId, int limit) {
		checkName("stream", stream);
		checkCount(limit);
		return toEvents(stream, this.history.newest(stream, fromId, toId, limit));
	}

	@Override
	public List<Event<String>> history(String stream, Instant from, Instant to, int limit) {
		checkName("stream", stream);
		checkCount(limit);
		return toEvents(stream, this.history.newest(stream, from, to, limit));
	}

	private List<Event<String>> toEvents(String stream, List<HistoryStore.Entry> entries) {
		return entries.stream()
			.map((entry) -> this.converter.read(entry.event(), stream, entry.partition(), 1))
			.toList();
	}

	@Override
	public List<StreamInfo> streams() {
		return this.view.streams();
	}

	@Override
	public List<GroupInfo> groups() {
		return this.view.groups();
	}

	@Override
	public void createGroup(String group, Collection<String> streams, StartPosition start) {
		checkName("group", group);
		if (streams.isEmpty()) {
			throw new IllegalArgumentException("The group \"" + group + "\" must have at least one stream");
		}
		streams.forEach((stream) -> checkName("stream", stream));
		this.groups.create(group, streams, start);
	}

	@Override
	public void deleteGroup(String group, boolean force) {
		checkName("group", group);
		this.changes.delete(group, force);
	}

	@Override
	public void seek(String group, StartPosition start, boolean force) {
		checkName("group", group);
		this.changes.seek(group, start, force);
	}

	@Override
	public void pauseGroup(String group) {
		checkName("group", group);
		this.changes.pause(group, true);
	}

	@Override
	public void resumeGroup(String group) {
		checkName("group", group);
		this.changes.pause(group, false);
	}

	private static void checkName(String what, String name) {
		if (name.isBlank() || name.length() > MAX_NAME) {
			throw new IllegalArgumentException(
					"The name of a " + what + " has 1 to " + MAX_NAME + " characters, but this is \"" + name + "\"");
		}
	}

	private static void checkCount(int count) {
		if (count < 1 || count > MAX_COUNT) {
			throw new IllegalArgumentException(
					"The number of events is " + count + ", but must be from 1 to " + MAX_COUNT);
		}
	}

}
