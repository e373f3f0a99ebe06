package io.pgbus.store;

import java.sql.ResultSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;

/**
 * Consumers, which are running application instances: how each says that it lives, what
 * becomes of the cursors of one that does not, and which of its groups have work. All
 * times are the database's.
 * <p>
 * A consumer is dead if its heartbeat is older than its timeout, or at once if it held
 * the advisory lock of its LISTEN connection and the lock is gone. The LISTEN connection
 * sees to the heartbeat while the pool has no connection for it. A server that has just
 * started judges nobody: every lock went with the old one.
 *
 * @since 0.1.0
 */
public final class ConsumerStore {

	private static final Logger logger = LoggerFactory.getLogger(ConsumerStore.class);

	private static final String REGISTER = """
			insert into {bus}.consumer (name, timeout) values (:name, make_interval(secs => :timeout))
			returning id
			""";

	private static final String HEARTBEAT = """
			update {bus}.consumer set heartbeat_at = clock_timestamp() where id = :id
			""";

	private static final String REMOVE = "delete from {bus}.consumer where id = :id";

	private static final String JOIN = """
			insert into {bus}.member (consumer_id, listener, group_id, types)
			values (:consumerId, :listener, :groupId, :types::text[])
			on conflict (consumer_id, listener) do update set group_id = excluded.group_id, types = excluded.types
			""";

	private static final String LEAVE = """
			delete from {bus}.member where consumer_id = :consumerId and listener = :listener
			""";

	/** The consumer k is dead. */
	static final String IS_DEAD = """
			pg_postmaster_start_time() < clock_timestamp() - k.timeout
			and (
				k.heartbeat_at < clock_timestamp() - k.timeout
				or k.locked and not exists (
					select from pg_locks l
					where l.locktype = 'advisory' and l.granted and l.objsubid = 2
					and l.database = (select d.oid from pg_database d where d.datname = current_database())
					and l.classid = '{bus}.bus'::regclass::oid and l.objid = k.id::oid
				)
			)""";

	/**
	 * One look for all groups of an instance: what it costs does not grow with its
	 * workers.
	 */
	private static final String LOOK = """
			select 'work' as what, c.group_id as id
			from {bus}.cursor c
			join {bus}.consumer_group g on g.id = c.group_id and not g.paused
			%s
			where c.group_id = any(:groupIds) and %s
			group by c.group_id
			union all
			select distinct 'backfill', b.group_id
			from {bus}.backfill b
			join {bus}.consumer_group g on g.id = b.group_id and not g.paused
			where b.group_id = any(:groupIds) and %s
			union all
			select 'dead', k.id from {bus}.consumer k where k.id <> :id and %s
			""".formatted(CursorStore.STATE, CursorStore.IS_FREE_AND_HAS_WORK, ChunkStore.HAS_WORK, IS_DEAD);

	private static final String BURY = "delete from {bus}.consumer k where k.id = :id and " + IS_DEAD;

	/**
	 * Ends the handler transactions of a dead consumer, which may hold locks that its
	 * successor would wait for: a frozen process cannot end them. Each holds an advisory
	 * lock that names its consumer (see {@link Ledger}).
	 */
	private static final String TERMINATE = """
			select count(pg_terminate_backend(l.pid)) from pg_locks l
			where l.locktype = 'advisory' and l.granted and l.objsubid = 2
			and l.database = (select d.oid from pg_database d where d.datname = current_database())
			and l.classid = '{bus}.bus'::regclass::oid and l.objid = (-:id::integer)::oid
			""";

	private static final String IS_ORPHAN = """
			s.owner is not null and not exists (select from {bus}.consumer k where k.id = s.owner)""";

	private final RoundTrip register;

	private final RoundTrip heartbeat;

	private final RoundTrip remove;

	private final RoundTrip join;

	private final RoundTrip leave;

	private final RoundTrip bury;

	private final RoundTrip terminate;

	private final Supplier<RoundTrip> look;

	private final RoundTrip freeOrphans;

	private final RoundTrip freeOrphanChunks;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public ConsumerStore(BusDatabase database) {
		this.register = database.ownRoundTrip(REGISTER);
		this.heartbeat = database.ownRoundTrip(HEARTBEAT);
		this.remove = database.ownRoundTrip(REMOVE);
		this.join = database.ownRoundTrip(JOIN);
		this.leave = database.ownRoundTrip(LEAVE);
		this.bury = database.ownRoundTrip(BURY);
		this.terminate = database.ownRoundTrip(TERMINATE);
		this.look = database.look(Horizon.PLANNER, LOOK);
		this.freeOrphans = database.ownRoundTrip(Horizon.ROW_BY_ROW, CursorStore.FREE.formatted(IS_ORPHAN));
		this.freeOrphanChunks = database.ownRoundTrip(Horizon.ROW_BY_ROW, ChunkStore.FREE.formatted(IS_ORPHAN));
	}

	/**
	 * Registers a running instance.
	 * @param name a name for people, such as host and process id
	 * @param timeout the age of its heartbeat at which others may take it for dead
	 * @return the id of the consumer
	 */
	public int register(String name, Duration timeout) {
		return this.register.run(Map.of("name", name, "timeout", timeout.toMillis() / 1000d), (row) -> {
			row.next();
			return row.getInt(1);
		});
	}

	/**
	 * Says that a consumer lives.
	 * @param id the consumer
	 * @return whether it still counts as living; if not, it must register anew
	 */
	public boolean heartbeat(int id) {
		return this.heartbeat.update(Map.of("id", id)) > 0;
	}

	/**
	 * Removes a consumer that ends, and frees what it may still hold.
	 * @param id the consumer
	 */
	public void remove(int id) {
		this.remove.update(Map.of("id", id));
		freeOrphans();
	}

	/**
	 * Says that a listener takes part in a group.
	 * @param id the consumer
	 * @param listener the id of the listener
	 * @param groupId the group
	 * @param types the types it handles, or {@code null} for every type
	 */
	public void join(int id, String listener, int groupId, @Nullable Set<String> types) {
		Map<String, Object> parameters = new HashMap<>(
				Map.of("consumerId", id, "listener", listener, "groupId", groupId));
		parameters.put("types", (types != null) ? types.toArray(new String[0]) : null);
		this.join.update(parameters);
	}

	/**
	 * Says that a listener does not take part any more.
	 * @param id the consumer
	 * @param listener the id of the listener
	 */
	public void leave(int id, String listener) {
		this.leave.update(Map.of("consumerId", id, "listener", listener));
	}

	/**
	 * Looks, in one round trip, which groups have work that nobody holds and which other
	 * consumers seem dead.
	 * @param id the consumer that looks
	 * @param groupIds its groups
	 * @return what there is
	 */
	public Sight look(int id, Collection<Integer> groupIds) {
		Map<String, Object> parameters = new HashMap<>();
		parameters.put("id", id);
		parameters.put("groupIds", groupIds.toArray(new Integer[0]));
		// of all types: the claim will tell
		parameters.put("types", RoundTrip.NULL);
		return this.look.get().run(parameters, (row) -> {
			List<Integer> groupsWithWork = new ArrayList<>();
			List<Integer> groupsWithBackfills = new ArrayList<>();
			List<Integer> dead = new ArrayList<>();
			while (row.next()) {
				List<Integer> found = switch (row.getString("what")) {
					case "work" -> groupsWithWork;
					case "backfill" -> groupsWithBackfills;
					default -> dead;
				};
				found.add(row.getInt("id"));
			}
			return new Sight(groupsWithWork, groupsWithBackfills, dead);
		});
	}

	/**
	 * Removes a consumer if it is still dead, ends its transactions and frees what it
	 * holds.
	 * @param id the consumer
	 * @return how many cursors became free, or -1 if it is not dead
	 */
	public int bury(int id) {
		if (this.bury.update(Map.of("id", id)) == 0) {
			return -1;
		}
		try {
			this.terminate.run(Map.of("id", id), ResultSet::next);
		}
		catch (DataAccessException ex) {
			logger.warn("The transactions of dead consumer {} could not be ended; what they lock stays locked until "
					+ "their connections close: {}", id, ex.getMostSpecificCause().getMessage());
		}
		return freeOrphans();
	}

	/**
	 * Frees what is held by consumers that are not there any more.
	 * @return how many cursors became free
	 */
	public int freeOrphans() {
		return count(this.freeOrphans) + count(this.freeOrphanChunks);
	}

	private static int count(RoundTrip free) {
		return free.run(Map.of(), (row) -> {
			row.next();
			return row.getInt(1);
		});
	}

	/**
	 * What a look found.
	 *
	 * @param groupsWithWork the groups that have events nobody holds
	 * @param groupsWithBackfills the groups that have rows of backfills nobody holds
	 * @param dead the consumers that seem dead
	 */
	public record Sight(List<Integer> groupsWithWork, List<Integer> groupsWithBackfills, List<Integer> dead) {

	}

}
