package io.pgbus;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/**
 * Commands for code that pulls events instead of listening, and for whoever looks after
 * consumer groups.
 * <p>
 * <b>Reading.</b> A pull consumer is a name in a group. It reads events, and they are
 * pending for it until it acknowledges them. The same rules hold as for listeners, which
 * may be in the same group: a partition is read by one consumer at a time, and its later
 * events are given only when all events of the read before are acknowledged, so events of
 * a key keep their order. A consumer is registered by its first command. Each
 * {@link #read}, {@link #claim} and {@link #acknowledge} says that it lives; after a
 * silence longer than {@code pgbus.consumer.pull-timeout} it is taken for dead and what
 * it holds is given to others, and its open transactions that have acknowledged something
 * are ended. Failed events are retried by listeners only; events behind a failed event
 * with the same key are left to them as well.
 * <p>
 * <b>Errors.</b> Every method throws {@code IllegalArgumentException} for a blank name or
 * one of more than 200 characters, and Spring's {@code DataAccessException} if the
 * database refuses. Those that name a group throw {@link PgBusException} if there is no
 * such group, unless they say otherwise.
 * <p>
 * <b>Transactions.</b> {@link #acknowledge} joins the caller's Spring transaction on the
 * bus's DataSource. All other methods commit alone before they return, on a connection of
 * their own; do not call those that change something in a transaction that has
 * acknowledged events. Safe for use by any number of threads.
 *
 * @since 0.1.0
 */
public interface ConsumerGroupOperations {

	/** The most events that one command returns. */
	int MAX_COUNT = 1000;

	/**
	 * Gives a consumer events that no consumer holds. Events it has not acknowledged are
	 * not given again: see {@link #pending} and {@link #claim}.
	 * @param group the group
	 * @param consumer the name of the consumer, unique in its group
	 * @param count the most events to return, from 1 to {@value #MAX_COUNT}
	 * @return the events with their payloads as JSON text, in order within a partition;
	 * empty if there are none, or the group is paused
	 */
	List<Event<String>> read(String group, String consumer, int count);

	/**
	 * Acknowledges events, all of them or none. In a Spring transaction on the bus's
	 * DataSource, which must be READ COMMITTED, they are acknowledged if and when it
	 * commits: what else it does in the same database is done exactly once.
	 * @param group the group
	 * @param consumer the name of the consumer
	 * @param eventIds the events, in any order
	 * @throws EventNotPendingException if not all of them are pending for the consumer; a
	 * transaction must be rolled back then. Also where there is no such group
	 */
	void acknowledge(String group, String consumer, Collection<Long> eventIds);

	/**
	 * Does what {@link #acknowledge(String, String, Collection)} does.
	 * @param group the group
	 * @param consumer the name of the consumer
	 * @param eventIds the events, in any order
	 */
	default void acknowledge(String group, String consumer, long... eventIds) {
		acknowledge(group, consumer, Arrays.stream(eventIds).boxed().toList());
	}

	/**
	 * Takes over what consumers hold, listeners' included, and gives the events again
	 * that are not done. Where the holder still works on them, its acknowledgement fails,
	 * and so do the transactions of exactly-once listeners; a listener with at-least-once
	 * delivery does its work a second time.
	 * @param group the group
	 * @param consumer the name of the consumer that takes over; what it holds itself is
	 * given again too, which helps after a crash
	 * @param minIdle the time for which nothing has been read from a partition, so that
	 * it may be taken over; not negative
	 * @param count the most events to return, from 1 to {@value #MAX_COUNT}
	 * @return the events with their payloads as JSON text, in order within a partition
	 */
	List<Event<String>> claim(String group, String consumer, Duration minIdle, int count);

	/**
	 * Removes a consumer that will not read any more, and gives what is pending for it to
	 * others. Does nothing if there is none, or no such group.
	 * @param group the group
	 * @param consumer the name of the consumer
	 */
	void removeConsumer(String group, String consumer);

	/**
	 * Tells who holds which events since when: pull consumers and listeners.
	 * @param group the group
	 * @return what is held, one entry a partition, longest held first; empty if there is
	 * no such group
	 */
	List<PendingEvents> pending(String group);

	/**
	 * Returns the newest events of a stream.
	 * @param stream the name of the stream
	 * @param limit the most events to return, from 1 to {@value #MAX_COUNT}
	 * @return the events with their payloads as JSON text, newest first; empty if there
	 * is no such stream
	 */
	default List<Event<String>> history(String stream, int limit) {
		return history(stream, 0, Long.MAX_VALUE, limit);
	}

	/**
	 * Returns the newest events of a stream within a range of ids. To go on towards the
	 * older ones, ask again up to the last id less one.
	 * @param stream the name of the stream
	 * @param fromId the lowest id
	 * @param toId the highest id
	 * @param limit the most events to return, from 1 to {@value #MAX_COUNT}
	 * @return the events with their payloads as JSON text, newest first; empty if there
	 * is no such stream
	 */
	List<Event<String>> history(String stream, long fromId, long toId, int limit);

	/**
	 * Returns the newest events of a stream within a range of time, by the database's
	 * clock.
	 * @param stream the name of the stream
	 * @param from the earliest time
	 * @param to the time before which they were published
	 * @param limit the most events to return, from 1 to {@value #MAX_COUNT}
	 * @return the events with their payloads as JSON text, newest id first; empty if
	 * there is no such stream
	 */
	List<Event<String>> history(String stream, Instant from, Instant to, int limit);

	/**
	 * Returns all streams. What it costs does not grow with the log.
	 * @return the streams, by name
	 */
	List<StreamInfo> streams();

	/**
	 * Returns all groups, with how far they are. What it costs does not grow with the
	 * events that wait.
	 * @return the groups, by name
	 */
	List<GroupInfo> groups();

	/**
	 * Makes a group, and its streams if there are none. A group that exists keeps its
	 * place, and gets those of the streams that it does not have. A listener that names
	 * the group later goes on where it is.
	 * @param group the group
	 * @param streams the names of its streams, at least one
	 * @param start where it starts
	 */
	void createGroup(String group, Collection<String> streams, StartPosition start);

	/**
	 * Deletes a group that no living consumer takes part in.
	 * @param group the group
	 * @throws GroupInUseException if one does
	 */
	default void deleteGroup(String group) {
		deleteGroup(group, false);
	}

	/**
	 * Deletes a group with its place, its failed events and its pull consumers.
	 * @param group the group
	 * @param force whether to do so while consumers take part in it. Transactions of its
	 * handlers have a second to end by themselves, then their connections are closed and
	 * they are rolled back. Its running listeners get nothing any more until they are
	 * started anew
	 * @throws GroupInUseException if consumers take part in it and it is not forced, or
	 * if their transactions could not be ended within half a minute
	 */
	void deleteGroup(String group, boolean force);

	/**
	 * Moves a group that no living consumer takes part in.
	 * @param group the group
	 * @param start where it goes on
	 * @throws GroupInUseException if one does
	 */
	default void seek(String group, StartPosition start) {
		seek(group, start, false);
	}

	/**
	 * Moves a group to another place in all of its partitions. What it has done and what
	 * has failed is forgotten, so events behind the new place are delivered again.
	 * @param group the group
	 * @param start where it goes on
	 * @param force whether to do so while consumers take part in it. Transactions of its
	 * handlers have a second to end by themselves, then their connections are closed and
	 * they are rolled back; no effect of one is committed after the move. Listeners go on
	 * from the new place; what is pending for pull consumers is not pending any more
	 * @throws GroupInUseException if consumers take part in it and it is not forced, or
	 * if their transactions could not be ended within half a minute
	 */
	void seek(String group, StartPosition start, boolean force);

	/**
	 * Pauses a group on all instances until {@link #resumeGroup}: its free cursors are
	 * given to nobody. A listener that is working on one lets go of it within about a
	 * second; what pull consumers hold stays pending and can be acknowledged.
	 * @param group the group
	 */
	void pauseGroup(String group);

	/**
	 * Ends a pause. Listeners notice within their poll interval.
	 * @param group the group
	 */
	void resumeGroup(String group);

}
