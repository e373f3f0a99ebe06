package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import io.pgbus.PgBusException;
import org.jspecify.annotations.Nullable;

/**
 * Pull consumers: who they are, and what they read. They claim cursors as listeners do,
 * but hold one until all events of a read are done, and hold many at a time.
 *
 * @since 0.1.0
 */
public final class PullStore {

	private static final String ENTER = """
			select g.id as group_id, %s as consumer_id, clock_timestamp() as now,
				array(select distinct c.stream_id from {bus}.cursor c where c.group_id = g.id order by 1) as stream_ids
			from {bus}.consumer_group g where g.name = :group
			""".formatted(HeldEvents.CONSUMER);

	/** Keeps another process from registering the same name. */
	private static final String LOCK_GROUP = """
			select g.id from {bus}.consumer_group g where g.name = :group for no key update
			""";

	private static final String REGISTER = """
			with registered as (
				insert into {bus}.consumer (name, timeout)
				select :consumer, make_interval(secs => :timeout)
				from {bus}.consumer_group g where g.name = :group and %s is null
				returning id
			)
			insert into {bus}.member (consumer_id, listener, group_id)
			select r.id, '%s', g.id from registered r, {bus}.consumer_group g where g.name = :group
			""".formatted(HeldEvents.CONSUMER, HeldEvents.LISTENER);

	private static final String REMOVE = """
			delete from {bus}.consumer where id = (
				select %s from {bus}.consumer_group g where g.name = :group
			)
			""".formatted(HeldEvents.CONSUMER);

	private static final String SETTLE = HeldEvents.HELD + HeldEvents.SETTLE + "select count(*) from over";

	/** What keeps cursors of the group from those who could go on with them. */
	private static final String SILENT = """
			select distinct k.id
			from {bus}.cursor c
			%s
			join {bus}.consumer k on k.id = s.owner
			where c.group_id = :groupId and k.heartbeat_at < clock_timestamp() - k.timeout
			""".formatted(CursorStore.STATE);

	private static final String IS_HELD_LONG = "s.owner is not null and s.changed_at < :before::timestamptz";

	private final BusDatabase database;

	private final long batchBytes;

	private final RoundTrip enter;

	private final RoundTrip settle;

	private final RoundTrip silent;

	private final RoundTrip claimFree;

	private final RoundTrip takeOver;

	/**
	 * Creates the store.
	 * @param database the database
	 * @param batchBytes the most bytes of payload that one cursor gives to a read, the
	 * first event aside
	 */
	public PullStore(BusDatabase database, long batchBytes) {
		this.database = database;
		this.batchBytes = batchBytes;
		this.enter = database.ownRoundTrip(Horizon.PLANNER, HeldEvents.BEAT, ENTER);
		this.settle = database.ownRoundTrip(Horizon.PLANNER, SETTLE);
		this.silent = database.ownRoundTrip(Horizon.PLANNER, SILENT);
		String read = CursorStore.read(null);
		this.claimFree = database.ownRoundTrip(Horizon.FLOOR, Horizon.BOUND,
				CursorStore.TAKE.formatted(CursorStore.IS_FREE_AND_HAS_EVENTS) + read);
		this.takeOver = database.ownRoundTrip(Horizon.FLOOR, Horizon.BOUND,
				CursorStore.TAKE.formatted(IS_HELD_LONG) + read);
	}

	/**
	 * Says that a pull consumer lives, and registers it if it is new or was taken for
	 * dead.
	 * @param group the group
	 * @param consumer the name of the consumer
	 * @param timeout the silence after which others take it for dead
	 * @return the consumer
	 * @throws PgBusException if there is no such group
	 */
	public Puller enter(String group, String consumer, Duration timeout) {
		Map<String, Object> names = Map.of("group", group, "consumer", consumer);
		Optional<Puller> puller = this.enter.run(names, PullStore::readPuller);
		if (puller.isEmpty()) {
			this.database.ownTransaction().executeWithoutResult((status) -> {
				this.database.own(LOCK_GROUP).param("group", group).query(Integer.class).optional();
				this.database.own(REGISTER).params(names).param("timeout", timeout.toMillis() / 1000d).update();
			});
			puller = this.enter.run(names, PullStore::readPuller);
		}
		return puller.orElseThrow(() -> GroupChanges.unknown(group));
	}

	/**
	 * Removes a pull consumer. What it holds is not freed by this.
	 * @param group the group
	 * @param consumer the name of the consumer
	 * @return whether there was one
	 */
	public boolean remove(String group, String consumer) {
		return Boolean.TRUE.equals(this.database.ownTransaction()
			.execute((status) -> this.database.own(REMOVE)
				.param("group", group)
				.param("consumer", consumer)
				.update() > 0));
	}

	/**
	 * Claims a free cursor and reads, in a transaction of its own.
	 * @param puller the consumer
	 * @param count the most events to read
	 * @return the claim, or {@code null} if no free cursor has events
	 */
	public @Nullable Claim claimFree(Puller puller, int count) {
		return this.claimFree.run(parameters(puller, count), PullStore::readClaim).orElse(null);
	}

	/**
	 * Takes over a cursor that is held, by whomever, and reads again what is not done, in
	 * a transaction of its own.
	 * @param puller the consumer
	 * @param count the most events to read
	 * @param before the cursor must have been read before this time of the database
	 * @return the claim, or {@code null} if there is no such cursor
	 */
	public @Nullable Claim takeOver(Puller puller, int count, OffsetDateTime before) {
		Map<String, Object> parameters = parameters(puller, count);
		parameters.put("before", before);
		return this.takeOver.run(parameters, PullStore::readClaim).orElse(null);
	}

	/**
	 * Frees the cursors of a pull consumer of which all events are done.
	 * @param group the group
	 * @param consumer the name of the consumer
	 */
	public void settle(String group, String consumer) {
		this.settle.run(Map.of("group", group, "consumer", consumer), ResultSet::next);
	}

	/**
	 * Returns the consumers that hold cursors of the group and have been silent for
	 * longer than their timeouts.
	 * @param puller a consumer of the group
	 * @return their ids
	 */
	public List<Integer> silent(Puller puller) {
		return this.silent.run(Map.of("groupId", puller.groupId()), (row) -> {
			List<Integer> ids = new ArrayList<>();
			while (row.next()) {
				ids.add(row.getInt("id"));
			}
			return ids;
		});
	}

	private Map<String, Object> parameters(Puller puller, int count) {
		Map<String, Object> parameters = new HashMap<>();
		parameters.put("groupId", puller.groupId());
		parameters.put("streamIds", puller.streamIds().toArray(new Integer[0]));
		parameters.put("types", RoundTrip.NULL);
		parameters.put("avoided", new Integer[0]);
		parameters.put("batchSize", count);
		parameters.put("batchBytes", this.batchBytes);
		parameters.put("scan", count);
		parameters.put("consumerId", puller.consumerId());
		parameters.put("worker", 0);
		return parameters;
	}

	private static Optional<Claim> readClaim(ResultSet row) throws SQLException {
		return Claim.read(row, true);
	}

	private static Optional<Puller> readPuller(ResultSet row) throws SQLException {
		if (!row.next() || row.getObject("consumer_id") == null) {
			return Optional.empty();
		}
		return Optional.of(new Puller(row.getInt("group_id"), row.getInt("consumer_id"),
				List.of((Integer[]) row.getArray("stream_ids").getArray()),
				row.getObject("now", OffsetDateTime.class)));
	}

	/**
	 * A pull consumer.
	 *
	 * @param groupId the group
	 * @param consumerId the consumer
	 * @param streamIds the streams of the group
	 * @param now the time of the database
	 */
	public record Puller(int groupId, int consumerId, List<Integer> streamIds, OffsetDateTime now) {

	}

}
