package io.pgbus.store;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

import io.pgbus.GroupInUseException;
import io.pgbus.PgBusException;
import io.pgbus.StartPosition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient.StatementSpec;

/**
 * Changes a group from outside: moves it, deletes it, pauses it.
 * <p>
 * <b>Invariant.</b> A transaction that has entered events of a cursor as done is
 * committed before the change or not at all. It shares a lock on the cursor until it ends
 * (see {@link Ledger}); the change takes that lock for itself alone, so it waits for
 * those that are under way, or ends them, and a later one finds the version it names
 * gone. What a save does meanwhile is met by looking again: a state that could not be
 * replaced, because a save had replaced it first, is replaced in its next version.
 *
 * @since 0.1.0
 */
public final class GroupChanges {

	private static final Logger logger = LoggerFactory.getLogger(GroupChanges.class);

	/** A second each. */
	private static final int MAX_ATTEMPTS = 30;

	private static final String ID = "select id from {bus}.consumer_group where name = :group";

	private static final String PAUSE = "update {bus}.consumer_group set paused = :paused where name = :group";

	private static final String IN_USE = """
			select k.name
			from {bus}.consumer k
			where not (%s)
			and (
				exists (select from {bus}.member m where m.group_id = :groupId and m.consumer_id = k.id)
				or exists (
					select from {bus}.cursor c
					%s
					where c.group_id = :groupId and s.owner = k.id
				)
			)
			order by k.id limit 4
			""".formatted(ConsumerStore.IS_DEAD, CursorStore.STATE);

	/** Ends the transactions that share a lock on one of the group's cursors. */
	private static final String TERMINATE = """
			select count(pg_terminate_backend(l.pid)) from pg_locks l
			where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.mode = 'ShareLock'
			and l.database = (select d.oid from pg_database d where d.datname = current_database())
			and l.classid = '{bus}.cursor'::regclass::oid
			and l.objid in (select c.id::oid from {bus}.cursor c where c.group_id = :groupId)
			""";

	private static final String WAIT_ONE_SECOND = "select set_config('lock_timeout', '1s', true)";

	private static final String LOCK_GROUP = """
			select id from {bus}.consumer_group where id = :groupId for update
			""";

	/** After this no handler of the group is between its look and its commit. */
	private static final String LOCK_OUT = """
			select count(pg_advisory_xact_lock('{bus}.cursor'::regclass::oid::integer, c.id))
			from (select id from {bus}.cursor where group_id = :groupId order by id) c
			""";

	/** Keeps claims away. */
	private static final String LOCK_CURSORS = """
			select id from {bus}.cursor where group_id = :groupId order by id for update
			""";

	private static final String STARTS_AT = """
			update {bus}.cursor set starts_at = :startsAt::timestamptz where group_id = :groupId
			""";

	/**
	 * Puts a free state in the place of those that have not been moved yet: at the end of
	 * an empty window below the horizon to start at.
	 */
	private static final String MOVE = """
			with live as (
				select c.id, s.version
				from {bus}.cursor c
				%s
				where c.group_id = :groupId and c.id <> all(:moved)
			),
			taken as (
				delete from {bus}.cursor_state s using live l
				where s.cursor_id = l.id and s.version = l.version
				returning s.cursor_id, s.version
			)
			insert into {bus}.cursor_state (cursor_id, version, low_snapshot, low_floor, low_bound,
				high_snapshot, high_floor, high_bound, ceiling, position)
			select c.id, t.version + 1, h.snapshot, h.floor, h.bound, h.snapshot, h.floor, h.bound, 0, 0
			from taken t
			join {bus}.cursor c on c.id = t.cursor_id
			cross join lateral (
			%%s
			) h(snapshot, floor, bound)
			returning cursor_id
			""".formatted(CursorStore.STATE);

	private static final String LEFT_TO_MOVE = """
			select count(*) from {bus}.cursor c where c.group_id = :groupId and c.id <> all(:moved)
			""";

	private static final String OF_THE_GROUP = """
			cursor_id in (select c.id from {bus}.cursor c where c.group_id = :groupId)""";

	private static final String FORGET_STATES = "delete from {bus}.cursor_state where " + OF_THE_GROUP;

	private static final String STATES_LEFT = "select exists (select from {bus}.cursor_state where " + OF_THE_GROUP
			+ ")";

	private static final String FORGET_DONE = "delete from {bus}.ledger where " + OF_THE_GROUP;

	private static final String FORGET_FAILED = "delete from {bus}.failed_event where " + OF_THE_GROUP;

	private static final String OF_ITS_CHUNKS = """
			cursor_id in (
				select -k.id from {bus}.backfill_chunk k join {bus}.backfill b on b.id = k.backfill_id
				where b.group_id = :groupId
			)""";

	private static final String FORGET_CHUNK_STATES = "delete from {bus}.cursor_state where " + OF_ITS_CHUNKS;

	private static final String FORGET_CHUNKS_DONE = "delete from {bus}.ledger where " + OF_ITS_CHUNKS;

	private static final String DELETE_PULL_CONSUMERS = """
			delete from {bus}.consumer k using {bus}.member m
			where m.consumer_id = k.id and m.group_id = :groupId and m.listener = '%s'
			""".formatted(HeldEvents.LISTENER);

	/** Cursors and members go with it. */
	private static final String DELETE_GROUP = "delete from {bus}.consumer_group where id = :groupId";

	private final BusDatabase database;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public GroupChanges(BusDatabase database) {
		this.database = database;
	}

	/**
	 * Pauses or resumes a group.
	 * @param group the group
	 * @param paused whether its free cursors may not be claimed
	 * @throws PgBusException if there is no such group
	 */
	public void pause(String group, boolean paused) {
		this.database.ownTransaction().executeWithoutResult((status) -> {
			if (this.database.own(PAUSE).param("group", group).param("paused", paused).update() == 0) {
				throw unknown(group);
			}
		});
	}

	/**
	 * Moves all cursors of a group, and forgets what was done and what failed.
	 * @param group the group
	 * @param start where it goes on
	 * @param force whether to do so while consumers take part in it
	 * @throws GroupInUseException if they do and it is not forced, or if their
	 * transactions do not end
	 * @throws PgBusException if there is no such group
	 */
	public void seek(String group, StartPosition start, boolean force) {
		String move = MOVE.formatted(GroupStore.horizon(start));
		alone(group, force, (groupId) -> {
			of(STARTS_AT, groupId).param("startsAt", GroupStore.startsAt(start)).update();
			List<Integer> moved = new ArrayList<>();
			do {
				moved.addAll(of(move, groupId).param("moved", moved.toArray(new Integer[0]))
					.param("startsAt", GroupStore.startsAt(start))
					.param("eventId", GroupStore.eventId(start))
					.query(Integer.class)
					.list());
			}
			while (of(LEFT_TO_MOVE, groupId).param("moved", moved.toArray(new Integer[0]))
				.query(Long.class)
				.single() > 0);
			forget(groupId);
		});
	}

	/**
	 * Deletes a group with all that is known of it.
	 * @param group the group
	 * @param force whether to do so while consumers take part in it
	 * @throws GroupInUseException if they do and it is not forced, or if their
	 * transactions do not end
	 * @throws PgBusException if there is no such group
	 */
	public void delete(String group, boolean force) {
		alone(group, force, (groupId) -> {
			of(LOCK_CURSORS, groupId).query().listOfRows();
			do {
				of(FORGET_STATES, groupId).update();
			}
			while (of(STATES_LEFT, groupId).query(Boolean.class).single());
			forget(groupId);
			of(FORGET_CHUNK_STATES, groupId).update();
			of(FORGET_CHUNKS_DONE, groupId).update();
			of(DELETE_PULL_CONSUMERS, groupId).update();
			of(DELETE_GROUP, groupId).update();
		});
	}

	private void forget(int groupId) {
		of(FORGET_DONE, groupId).update();
		of(FORGET_FAILED, groupId).update();
	}

	/**
	 * Makes a change while no transaction has entered events of the group. Those that are
	 * under way have a second to end by themselves, then they are ended.
	 */
	private void alone(String group, boolean force, IntConsumer change) {
		int groupId = this.database.own(ID)
			.param("group", group)
			.query(Integer.class)
			.optional()
			.orElseThrow(() -> unknown(group));
		if (!force) {
			List<String> consumers = consumersOf(groupId);
			if (!consumers.isEmpty()) {
				throw new GroupInUseException(group, consumers, null);
			}
		}
		for (int attempt = 1;; attempt++) {
			try {
				tryAlone(groupId, change);
				return;
			}
			catch (DataAccessException ex) {
				if (!isLockedOut(ex)) {
					throw ex;
				}
				if (attempt == MAX_ATTEMPTS) {
					throw new GroupInUseException(group, consumersOf(groupId), ex);
				}
				if (force) {
					endTransactions(group, groupId);
				}
			}
		}
	}

	private void tryAlone(int groupId, IntConsumer change) {
		this.database.ownTransaction().executeWithoutResult((status) -> {
			// a horizon, which may be older than the change: see Horizon
			this.database.own(Horizon.FLOOR).query().listOfRows();
			this.database.own(Horizon.BOUND).query().listOfRows();
			this.database.own(WAIT_ONE_SECOND).query().listOfRows();
			of(LOCK_GROUP, groupId).query().listOfRows();
			of(LOCK_OUT, groupId).query().listOfRows();
			change.accept(groupId);
		});
	}

	private void endTransactions(String group, int groupId) {
		try {
			long ended = of(TERMINATE, groupId).query(Long.class).single();
			logger.info("Group {} is changed: ended {} transaction(s) of its handlers", group, ended);
		}
		catch (DataAccessException ex) {
			logger
				.warn("Group {} is to be changed, but the transactions of its handlers could not be ended; waiting for "
						+ "them: {}", group, ex.getMostSpecificCause().getMessage());
		}
	}

	private List<String> consumersOf(int groupId) {
		return of(IN_USE, groupId).query((row, index) -> row.getString("name")).list();
	}

	private static boolean isLockedOut(DataAccessException ex) {
		return DatabaseTrouble.of(ex) == DatabaseTrouble.CONFLICT || DatabaseTrouble.isLockTimeout(ex);
	}

	private StatementSpec of(String sql, int groupId) {
		return this.database.own(sql).param("groupId", groupId);
	}

	static PgBusException unknown(String group) {
		return new PgBusException("There is no group \"" + group
				+ "\". A listener makes its group when it starts; for one that is only read from, use createGroup.");
	}

}
