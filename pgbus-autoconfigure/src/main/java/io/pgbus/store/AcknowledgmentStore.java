package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.pgbus.EventNotPendingException;
import io.pgbus.PgBusException;

import org.springframework.dao.DuplicateKeyException;

/**
 * Acknowledges what pull consumers hold, with the ledger, in the caller's transaction.
 * <p>
 * <b>Invariant.</b> An acknowledgement is committed at most once per event and group. The
 * order is that of {@link Ledger}: the rows go in, then a later statement sees that the
 * cursors have the versions under which the events were found pending. The cursor's state
 * changes only when the last event of a read is done, since every change is a new version
 * and ends the acknowledgements that are under way.
 * <p>
 * Of two transactions that acknowledge the last events of a read at the same time,
 * neither sees that nothing is left. The next read of the consumer settles that.
 *
 * @since 0.1.0
 */
public final class AcknowledgmentStore {

	private static final String FIND = HeldEvents.HELD + """
			, found as (
				select i.id, h.id as cursor_id, h.version, h.owner
				from held h
				cross join unnest(:eventIds::bigint[]) as i(id)
				%s
			)
			select array_agg(id) as ids, array_agg(cursor_id) as cursor_ids, array_agg(version) as versions,
				max(owner) as consumer_id, current_setting('transaction_isolation') as isolation, %s
			from found
			""".formatted(HeldEvents.PENDING_OF, Horizon.RETURNED);

	/** In one order everywhere, so that two of these do not wait for each other. */
	private static final String SIGN = """
			select pg_advisory_xact_lock_shared('{bus}.bus'::regclass::oid::integer, -:consumerId::integer),
				count(pg_advisory_xact_lock_shared('{bus}.cursor'::regclass::oid::integer, c.id))
			from (select distinct id from unnest(:cursorIds::integer[]) as c(id) order by id) c
			""";

	private static final String ENTER = """
			insert into {bus}.ledger (cursor_id, event_id)
			select cursor_id, event_id from unnest(:cursorIds::integer[], :eventIds::bigint[]) as a(cursor_id, event_id)
			order by cursor_id, event_id
			""";

	private static final String LOOK_AND_SETTLE = HeldEvents.HELD + HeldEvents.SETTLE + """
			select not exists (
				select from unnest(:cursorIds::integer[], :versions::bigint[]) as a(cursor_id, version)
				where not exists (
					select from {bus}.cursor_state s where s.cursor_id = a.cursor_id and s.version = a.version
				)
			) as still_held, %s
			""".formatted(Horizon.RETURNED);

	private final BusDatabase database;

	private final RoundTrip find;

	private final RoundTrip enter;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public AcknowledgmentStore(BusDatabase database) {
		this.database = database;
		this.find = database.joiningRoundTrip(Horizon.BORROWED, FIND);
		this.enter = database.joiningRoundTrip(Horizon.BORROWED, SIGN, ENTER, HeldEvents.BEAT, LOOK_AND_SETTLE);
	}

	/**
	 * Acknowledges events, all of them or none, in the caller's transaction or alone.
	 * @param group the group
	 * @param consumer the pull consumer
	 * @param eventIds the events
	 * @throws EventNotPendingException if an event is not pending for the consumer; the
	 * transaction must be rolled back then
	 * @throws PgBusException if the caller's transaction is not READ COMMITTED
	 */
	public void acknowledge(String group, String consumer, Set<Long> eventIds) {
		if (this.database.inTransaction()) {
			enter(group, consumer, eventIds);
			return;
		}
		this.database.alone(() -> {
			enter(group, consumer, eventIds);
			return true;
		});
	}

	private void enter(String group, String consumer, Set<Long> eventIds) {
		Map<String, Object> parameters = new HashMap<>();
		parameters.put("group", group);
		parameters.put("consumer", consumer);
		parameters.put("eventIds", eventIds.toArray(new Long[0]));
		Found found = this.find.run(parameters, AcknowledgmentStore::readFound);
		if (!found.isolation().equals("read committed")) {
			throw new PgBusException("Events cannot be acknowledged in a transaction whose isolation is "
					+ found.isolation() + ", since it cannot see that another consumer has taken them over. Use READ "
					+ "COMMITTED.");
		}
		Set<Long> missing = new LinkedHashSet<>(eventIds);
		found.eventIds().forEach(missing::remove);
		if (!missing.isEmpty()) {
			throw new EventNotPendingException(group, consumer, missing);
		}
		parameters.put("consumerId", found.consumerId());
		parameters.put("eventIds", found.eventIds().toArray(new Long[0]));
		parameters.put("cursorIds", found.cursorIds().toArray(new Integer[0]));
		parameters.put("versions", found.versions().toArray(new Long[0]));
		boolean stillHeld;
		try {
			stillHeld = this.enter.run(parameters, (row) -> row.next() && row.getBoolean("still_held"));
		}
		catch (DuplicateKeyException ex) {
			throw new EventNotPendingException(group, consumer, eventIds);
		}
		if (!stillHeld) {
			throw new EventNotPendingException(group, consumer, eventIds);
		}
	}

	private static Found readFound(ResultSet row) throws SQLException {
		row.next();
		if (row.getArray("ids") == null) {
			return new Found(List.of(), List.of(), List.of(), 0, row.getString("isolation"));
		}
		return new Found(List.of((Long[]) row.getArray("ids").getArray()),
				List.of((Integer[]) row.getArray("cursor_ids").getArray()),
				List.of((Long[]) row.getArray("versions").getArray()), row.getInt("consumer_id"),
				row.getString("isolation"));
	}

	private record Found(List<Long> eventIds, List<Integer> cursorIds, List<Long> versions, int consumerId,
			String isolation) {

	}

}
