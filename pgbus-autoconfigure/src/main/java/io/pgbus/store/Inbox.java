package io.pgbus.store;

import java.sql.ResultSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

import io.pgbus.store.FailureStore.Due;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;
import org.springframework.dao.DuplicateKeyException;

/**
 * What handlers have done in this database with events of a bus in another one. It is to
 * such a bus what the {@link Ledger} is to one in the same database.
 * <p>
 * <b>Invariant.</b> The effects of a handler on an event are committed here at most once
 * per group. Whoever has claimed a cursor takes it up here before the first handler runs:
 * its version goes in, and it is told what is done already. In the handler's transaction
 * the entry goes in, then, with a later snapshot, no higher version is seen. A successor
 * has a higher version. If it takes the cursor up before that look, the look fails; if
 * after it, the successor is told of the entry, or meets its unique key when it inserts
 * its own, and waits there for the outcome.
 * <p>
 * Entries go when nobody can need them: those up to the position, which the bus has
 * saved, and all of earlier windows. Who takes a cursor up deletes them, but not after a
 * successor has done so. An entry of a failed event goes once the bus has removed the
 * failure; that it stays where the process dies in between does no harm, as a failure's
 * ordinal does not come again.
 *
 * @since 0.1.0
 */
public final class Inbox {

	private static final Logger logger = LoggerFactory.getLogger(Inbox.class);

	private static final String IS_OVERTAKEN = """
			exists (
				select from {bus}.inbox i
				where i.source = :source::uuid and i.cursor_id = :cursorId and i.version > :version
			)""";

	private static final String FORGET = """
			delete from {bus}.inbox_entry e
			where e.source = :source::uuid and e.cursor_id = :cursorId and e.failure = 0
			and (
				e.event_id <= :position
				or not exists (
					select from {bus}.inbox i
					where i.source = :source::uuid and i.cursor_id = :cursorId and i.reads_up_to = :window
				)
			)
			and not %s
			""".formatted(IS_OVERTAKEN);

	private static final String TAKE_UP = """
			insert into {bus}.inbox (source, cursor_id, version, reads_up_to)
			values (:source::uuid, :cursorId, :version, :window)
			on conflict do nothing
			""";

	private static final String REPLACE = """
			delete from {bus}.inbox i
			where i.source = :source::uuid and i.cursor_id = :cursorId and i.version < :version
			""";

	private static final String DONE = """
			select null::bigint as event_id, %s as overtaken
			union all
			select e.event_id, false from {bus}.inbox_entry e
			where e.source = :source::uuid and e.cursor_id = :cursorId and e.failure = 0
			and e.event_id = any(:eventIds::bigint[])
			""".formatted(IS_OVERTAKEN);

	/**
	 * Tells whose transaction this is, so that it can be ended when its process is
	 * frozen.
	 */
	private static final String SIGN = """
			select pg_advisory_xact_lock_shared('{bus}.inbox'::regclass::oid::integer,
				hashtext(:source || ' ' || :consumerId))
			""";

	private static final String ENTER = """
			insert into {bus}.inbox_entry (source, cursor_id, event_id, failure)
			select :source::uuid, :cursorId, unnest(:eventIds::bigint[]), :failure
			""";

	private static final String LOOK = """
			select case when current_setting('transaction_isolation') = 'read committed' then not %s end
			""".formatted(IS_OVERTAKEN);

	private static final String IS_DONE = """
			select exists (
				select from {bus}.inbox_entry e
				where e.source = :source::uuid and e.cursor_id = :cursorId and e.event_id = :eventId
				and e.failure = :failure
			)
			""";

	private static final String FORGET_FAILURE = """
			delete from {bus}.inbox_entry e
			where e.source = :source::uuid and e.cursor_id = :cursorId and e.event_id = :eventId
			and e.failure = :failure
			""";

	private static final String TERMINATE = """
			select count(pg_terminate_backend(l.pid)) from pg_locks l
			where l.locktype = 'advisory' and l.granted and l.objsubid = 2
			and l.database = (select d.oid from pg_database d where d.datname = current_database())
			and l.classid = '{bus}.inbox'::regclass::oid
			and l.objid = hashtext(:source || ' ' || :consumerId)::oid
			""";

	private static final long NO_FAILURE = 0;

	private final BusDatabase database;

	private final String source;

	private final RoundTrip takeUp;

	private final RoundTrip enter;

	private final RoundTrip terminate;

	/**
	 * Creates the inbox.
	 * @param database the database of the effects
	 * @param source the id of the bus that the events are from
	 */
	public Inbox(BusDatabase database, UUID source) {
		this.database = database;
		this.source = source.toString();
		this.takeUp = database.ownRoundTrip(FORGET, TAKE_UP, REPLACE, DONE);
		this.enter = database.joiningRoundTrip(SIGN, ENTER, LOOK);
		this.terminate = database.ownRoundTrip(TERMINATE);
	}

	/**
	 * Returns the database of the effects.
	 * @return the database
	 */
	public BusDatabase database() {
		return this.database;
	}

	/**
	 * Says that a claim is being worked on, in a transaction of its own.
	 * @param claim the claim
	 * @return which of its events are done already, or {@code null} if somebody else has
	 * taken the cursor up since
	 */
	public @Nullable Set<Long> takeUp(Claim claim) {
		Map<String, Object> parameters = parameters(claim);
		parameters.put("position", claim.position());
		parameters.put("window", claim.window());
		parameters.put("eventIds", claim.events().stream().map(StoredEvent::id).toArray(Long[]::new));
		Set<Long> done = new HashSet<>();
		boolean overtaken = this.takeUp.run(parameters, (row) -> {
			boolean found = false;
			while (row.next()) {
				found |= row.getBoolean("overtaken");
				long id = row.getLong("event_id");
				if (!row.wasNull()) {
					done.add(id);
				}
			}
			return found;
		});
		return overtaken ? null : done;
	}

	/**
	 * Enters events as done, in the caller's READ COMMITTED transaction, before their
	 * handler runs in it.
	 * @param claim the claim, which was taken up
	 * @param holder who holds the cursor
	 * @param eventIds the events
	 * @return whether nobody else has taken the cursor up; if somebody has, the
	 * transaction must be rolled back
	 * @throws DuplicateKeyException if one of the events is done already
	 */
	public boolean enter(Claim claim, Holder holder, List<Long> eventIds) {
		return enter(claim, holder, eventIds, NO_FAILURE);
	}

	/**
	 * Enters a failed event as done, as above.
	 * @param claim the claim, which was taken up
	 * @param holder who holds the cursor
	 * @param due the event
	 * @return whether nobody else has taken the cursor up
	 * @throws DuplicateKeyException if the event is done already
	 */
	public boolean enter(Claim claim, Holder holder, Due due) {
		return enter(claim, holder, List.of(due.event().id()), due.ordinal());
	}

	private boolean enter(Claim claim, Holder holder, List<Long> eventIds, long failure) {
		Map<String, Object> parameters = parameters(claim);
		parameters.put("consumerId", String.valueOf(holder.consumerId()));
		parameters.put("eventIds", eventIds.toArray(new Long[0]));
		parameters.put("failure", failure);
		return this.enter.run(parameters, (row) -> {
			row.next();
			return Ledger.isHeld(row);
		});
	}

	/**
	 * Tells whether an event is done that is not known to have failed.
	 * @param claim the claim
	 * @param eventId the event
	 * @return whether it is
	 */
	public boolean isDone(Claim claim, long eventId) {
		return this.database.own(IS_DONE)
			.params(parameters(claim))
			.param("eventId", eventId)
			.param("failure", NO_FAILURE)
			.query(Boolean.class)
			.single();
	}

	/**
	 * Forgets that a failed event is done, as its failure is no more.
	 * @param claim the claim
	 * @param due the event
	 */
	public void forget(Claim claim, Due due) {
		try {
			this.database.own(FORGET_FAILURE)
				.params(parameters(claim))
				.param("eventId", due.event().id())
				.param("failure", due.ordinal())
				.update();
		}
		catch (DataAccessException ex) {
			logger.debug("The entry of failed event {} stays, which does no harm", due.event().id(), ex);
		}
	}

	/**
	 * Ends the handlers' transactions of a consumer that is dead.
	 * @param consumerId the consumer, of the other bus
	 */
	public void terminate(int consumerId) {
		try {
			this.terminate.run(Map.of("source", this.source, "consumerId", String.valueOf(consumerId)),
					ResultSet::next);
		}
		catch (DataAccessException ex) {
			logger.warn("The transactions of dead consumer {} could not be ended; what they lock stays locked until "
					+ "their connections close: {}", consumerId, ex.getMostSpecificCause().getMessage());
		}
	}

	private Map<String, Object> parameters(Claim claim) {
		Map<String, Object> parameters = new HashMap<>();
		parameters.put("source", this.source);
		parameters.put("cursorId", claim.cursorId());
		parameters.put("version", claim.version());
		return parameters;
	}

}
