package io.pgbus.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.simple.JdbcClient.StatementSpec;

/**
 * Failed events of one cursor: events that its group could not handle yet.
 * <p>
 * <b>Invariant.</b> Of the events of one key, those that are here are in the order of
 * delivery. The first is never held, the others always are. New events of that key are
 * put behind them. Every change is made by the holder of the cursor, which is checked by
 * a later statement of the same transaction (see {@link Ledger}), or by an operator (see
 * {@link FailureChanges}); what both may do at a time is done one after the other.
 *
 * @since 0.1.0
 */
public final class FailureStore {

	private static final Logger logger = LoggerFactory.getLogger(FailureStore.class);

	/**
	 * One change of a cursor's failed events at a time, but for handlers' transactions,
	 * which may be long and only touch rows that they lock.
	 */
	static final String LOCK = """
			select pg_advisory_xact_lock('{bus}.failed_event'::regclass::oid::integer, :cursorId::integer)
			""";

	/**
	 * Since the event was read, an operator may have put an earlier one with its key up
	 * for retry.
	 */
	private static final String RECORD = """
			insert into {bus}.failed_event (cursor_id, event_id, key, type, state, holds_key, attempts, next_attempt_at,
				first_failed_at, last_failed_at, error_type, error_message, error_stack)
			select :cursorId, :eventId, :key, :type, case when b.is_behind then 'held' else :state end, :holdsKey, 1,
				case when not b.is_behind then clock_timestamp() + make_interval(secs => :delay) end,
				clock_timestamp(), clock_timestamp(), :errorType, :errorMessage, :errorStack
			from (
				select :state = 'retrying' and exists (
					select from {bus}.failed_event f where f.cursor_id = :cursorId and f.key = :key and f.holds_key
				) as is_behind
			) b
			on conflict (cursor_id, event_id) do nothing
			""";

	/**
	 * Fails on the unique key if an event is done, and waits for a transaction of which
	 * that is not known yet: a handler whose commit was not answered may have succeeded.
	 */
	private static final String PROVE_UNDONE = """
			insert into {bus}.ledger (cursor_id, event_id) values (:cursorId, :eventId)
			""";

	private static final String TAKE_PROOF_BACK = """
			delete from {bus}.ledger where cursor_id = :cursorId and event_id = :eventId
			""";

	/**
	 * An event above the position will be read again if the position is not saved, and is
	 * found to be done by its ledger row then, as its failure is no more.
	 */
	private static final String ENTER_IF_AHEAD = """
			insert into {bus}.ledger (cursor_id, event_id)
			select s.cursor_id, e.id
			from {bus}.cursor_state s
			join {bus}.event e on e.stream_id = :streamId and e.partition = :partition and e.id = :eventId
			where s.cursor_id = :cursorId and s.version = :version
			and e.id > s.position and not pg_visible_in_snapshot(e.tx, s.low_snapshot)
			on conflict do nothing
			""";

	/** Not if it is done. */
	private static final String HOLD = """
			insert into {bus}.failed_event (cursor_id, event_id, key, type, state, holds_key)
			select :cursorId, :eventId, :key, :type, 'held', true
			where not exists (select from {bus}.ledger l where l.cursor_id = :cursorId and l.event_id = :eventId)
			on conflict (cursor_id, event_id) do nothing
			""";

	private static final String RECORD_AGAIN = """
			update {bus}.failed_event
			set attempts = attempts + 1, state = :state, holds_key = :holdsKey,
				next_attempt_at = clock_timestamp() + make_interval(secs => :delay),
				first_failed_at = coalesce(first_failed_at, clock_timestamp()), last_failed_at = clock_timestamp(),
				error_type = :errorType, error_message = :errorMessage, error_stack = :errorStack
			where cursor_id = :cursorId and event_id = :eventId and attempts = :attempts and state = 'retrying'
			""";

	private static final String RESOLVE = """
			delete from {bus}.failed_event
			where cursor_id = :cursorId and event_id = :eventId and attempts = :attempts and state = 'retrying'
			""";

	/** If the first event of a key is held, it has its turn. */
	static final String PROMOTE = """
			update {bus}.failed_event set state = 'retrying', next_attempt_at = clock_timestamp()
			where cursor_id = :cursorId and event_id = (
				select f.event_id from {bus}.failed_event f
				where f.cursor_id = :cursorId and f.key = :key and f.holds_key
				order by f.ordinal limit 1
			) and state = 'held'
			""";

	/** Also those whose event is gone, as there is nothing else to wait for. */
	private static final String DUE = """
			select f.event_id, f.key as failed_key, f.attempts, f.ordinal,
				e.id, e.type, e.key, e.payload, e.headers, e.published_at, false as held
			from {bus}.failed_event f
			join {bus}.cursor c on c.id = f.cursor_id
			left join lateral (
				%s
			) e on true
			where f.cursor_id = :cursorId and %s
			order by f.next_attempt_at, f.ordinal
			limit :limit
			""".formatted(event("c", "f"), CursorStore.IS_DUE);

	private final BusDatabase database;

	private final RoundTrip due;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public FailureStore(BusDatabase database) {
		this.database = database;
		this.due = database.ownRoundTrip(DUE);
	}

	/**
	 * The event of a failure: a query with at most one row. The copy is made before the
	 * segment goes.
	 * @param cursor what has stream_id and partition
	 * @param failure what has event_id
	 */
	static String event(String cursor, String failure) {
		return """
				select * from (
					select e.tx, e.id, e.published_at, e.size, e.type, e.key, e.payload, e.headers
					from {bus}.event e
					where e.stream_id = %1$s.stream_id and e.partition = %1$s.partition and e.id = %2$s.event_id
					union all
					select e.tx, e.id, e.published_at, e.size, e.type, e.key, e.payload, e.headers
					from {bus}.kept_event e
					where e.stream_id = %1$s.stream_id and e.partition = %1$s.partition and e.id = %2$s.event_id
				) e
				limit 1
				""".formatted(cursor, failure);
	}

	/**
	 * Returns failed events whose next attempt is due. Failures whose event is not in the
	 * log any more are removed, with a warning: nothing can be tried again.
	 * @param claim the cursor
	 * @param types the types the listener handles, or {@code null} for every type
	 * @param limit the most events to return
	 * @return the events, longest due first
	 */
	public List<Due> due(Claim claim, @Nullable Set<String> types, int limit) {
		Map<String, Object> parameters = new HashMap<>(Map.of("cursorId", claim.cursorId(), "limit", limit));
		parameters.put("types", (types != null) ? types.toArray(new String[0]) : RoundTrip.NULL);
		List<Gone> gone = new ArrayList<>();
		List<Due> dues = this.due.run(parameters, (row) -> {
			List<Due> found = new ArrayList<>();
			while (row.next()) {
				if (row.getString("payload") != null) {
					found.add(new Due(StoredEvent.read(row), row.getInt("attempts"), row.getLong("ordinal")));
				}
				else {
					gone.add(new Gone(row.getLong("event_id"), row.getString("failed_key"), row.getInt("attempts")));
				}
			}
			return found;
		});
		if (!gone.isEmpty() && forget(claim, gone) && dues.isEmpty()) {
			return due(claim, types, limit);
		}
		return dues;
	}

	/** The next event of a key has its turn. */
	private boolean forget(Claim claim, List<Gone> gone) {
		boolean forgotten = whileHeld(claim, () -> gone.forEach((failure) -> {
			this.database.own(RESOLVE)
				.param("cursorId", claim.cursorId())
				.param("eventId", failure.eventId())
				.param("attempts", failure.attempts())
				.update();
			promote(this.database.own(PROMOTE), claim.cursorId(), failure.key());
		}));
		if (forgotten) {
			logger.warn(
					"Failed event(s) {} of partition {} of {} cannot be tried again, as they are not in the log any more. They are forgotten.",
					gone.stream().map(Gone::eventId).toList(), claim.partition(), claim.stream());
		}
		return forgotten;
	}

	/**
	 * Records the first failure of an event, in a transaction of its own.
	 * @param claim the claim
	 * @param event the event
	 * @param failure the failure
	 * @return whether the cursor is still held and the event is not done; if not, nothing
	 * was recorded
	 */
	public boolean record(Claim claim, StoredEvent event, Failure failure) {
		try {
			return whileHeld(claim, () -> {
				of(PROVE_UNDONE, claim, event).update();
				of(TAKE_PROOF_BACK, claim, event).update();
				recordAt(claim.cursorId(), event, failure);
			});
		}
		catch (DuplicateKeyException ex) {
			return false;
		}
	}

	/**
	 * Puts events behind failed events with their keys, in a transaction of its own.
	 * Where what they were to wait for is gone by now, they are the first and have their
	 * turn.
	 * @param claim the claim
	 * @param events the events, in order
	 * @return whether the cursor is still held; if not, nothing was recorded
	 */
	public boolean hold(Claim claim, Collection<StoredEvent> events) {
		return whileHeld(claim, () -> {
			events.forEach((event) -> holdAt(claim.cursorId(), event));
		});
	}

	/** Records the first failure of an event, in the bus's own transaction at hand. */
	void recordAt(int cursorId, StoredEvent event, Failure failure) {
		failure.bind(of(RECORD, cursorId, event)).param("key", event.key()).param("type", event.type()).update();
	}

	/**
	 * Puts an event behind those with its key, in the bus's own transaction at hand.
	 */
	void holdAt(int cursorId, StoredEvent event) {
		of(HOLD, cursorId, event).param("key", event.key()).param("type", event.type()).update();
		promote(this.database.own(PROMOTE), cursorId, event.key());
	}

	/**
	 * Records another failure of a failed event, in a transaction of its own. If it is
	 * dead and does not hold its key, the next event of the key has its turn.
	 * @param claim the claim
	 * @param due the event as it was found
	 * @param failure the failure
	 * @return whether the cursor is still held; if not, nothing was recorded
	 */
	public boolean recordAgain(Claim claim, Due due, Failure failure) {
		return whileHeld(claim, () -> {
			int updated = failure.bind(of(RECORD_AGAIN, claim, due.event())).param("attempts", due.attempts()).update();
			if (updated > 0 && !failure.holdsKey()) {
				promote(this.database.own(PROMOTE), claim.cursorId(), due.event().key());
			}
		});
	}

	/**
	 * Removes a failed event that is handled, and gives the next event of its key its
	 * turn, in a transaction of its own.
	 * @param claim the claim
	 * @param due the event as it was found
	 * @return whether the cursor is still held; if not, nothing was removed
	 */
	public boolean resolve(Claim claim, Due due) {
		return whileHeld(claim, () -> {
			remove(this.database.own(RESOLVE), claim, due);
			promote(this.database.own(PROMOTE), claim.cursorId(), due.event().key());
			enterIfAhead(this.database.own(ENTER_IF_AHEAD), claim, due);
		});
	}

	/**
	 * Does what {@link #resolve} does in the caller's READ COMMITTED transaction, before
	 * the handler runs in it.
	 * @param claim the claim
	 * @param holder who holds the cursor
	 * @param due the event as it was found
	 * @return whether it was there and the cursor is still held; if not, the transaction
	 * must be rolled back
	 */
	public boolean resolveInTransaction(Claim claim, Holder holder, Due due) {
		this.database.joining(Ledger.SIGN)
			.param("consumerId", holder.consumerId())
			.param("cursorId", claim.cursorId())
			.query()
			.listOfRows();
		if (remove(this.database.joining(RESOLVE), claim, due) == 0) {
			return false;
		}
		promote(this.database.joining(PROMOTE), claim.cursorId(), due.event().key());
		enterIfAhead(this.database.joining(ENTER_IF_AHEAD), claim, due);
		return isHeld(this.database.joining(Ledger.LOOK), claim);
	}

	private boolean whileHeld(Claim claim, Runnable change) {
		return Boolean.TRUE.equals(this.database.ownTransaction().execute((status) -> {
			this.database.own(Ledger.SHARE).param("cursorId", claim.cursorId()).query().listOfRows();
			this.database.own(LOCK).param("cursorId", claim.cursorId()).query().listOfRows();
			change.run();
			boolean held = isHeld(this.database.own(Ledger.LOOK), claim);
			if (!held) {
				status.setRollbackOnly();
			}
			return held;
		}));
	}

	private StatementSpec of(String sql, Claim claim, StoredEvent event) {
		return of(sql, claim.cursorId(), event);
	}

	private StatementSpec of(String sql, int cursorId, StoredEvent event) {
		return this.database.own(sql).param("cursorId", cursorId).param("eventId", event.id());
	}

	private static int remove(StatementSpec statement, Claim claim, Due due) {
		return statement.param("cursorId", claim.cursorId())
			.param("eventId", due.event().id())
			.param("attempts", due.attempts())
			.update();
	}

	private static void enterIfAhead(StatementSpec statement, Claim claim, Due due) {
		statement.param("cursorId", claim.cursorId())
			.param("version", claim.version())
			.param("streamId", claim.streamId())
			.param("partition", claim.partition())
			.param("eventId", due.event().id())
			.update();
	}

	private static void promote(StatementSpec statement, int cursorId, @Nullable String key) {
		if (key != null) {
			statement.param("cursorId", cursorId).param("key", key).update();
		}
	}

	/**
	 * Whether a cursor is still held, as a later statement of the transaction sees it.
	 */
	boolean isHeld(Claim claim) {
		return isHeld(this.database.own(Ledger.LOOK), claim);
	}

	private static boolean isHeld(StatementSpec statement, Claim claim) {
		return statement.param("cursorId", claim.cursorId())
			.param("version", claim.version())
			.query((row, index) -> Ledger.isHeld(row))
			.single();
	}

	/**
	 * A failed event whose next attempt is due.
	 *
	 * @param event the event
	 * @param attempts how often it has been tried
	 * @param ordinal what tells this failure from all others
	 */
	public record Due(StoredEvent event, int attempts, long ordinal) {

	}

	private record Gone(long eventId, @Nullable String key, int attempts) {

	}

	/**
	 * What is recorded of a failure.
	 *
	 * @param nextAttempt the time until the next attempt, or {@code null} if the event is
	 * dead
	 * @param holdsKey whether later events of the key are held
	 * @param errorType the class of the exception
	 * @param errorMessage its message, or {@code null}
	 * @param errorStack its stack, shortened, or {@code null}
	 */
	public record Failure(@Nullable Duration nextAttempt, boolean holdsKey, String errorType,
			@Nullable String errorMessage, @Nullable String errorStack) {

		private StatementSpec bind(StatementSpec statement) {
			return statement.param("state", (this.nextAttempt != null) ? "retrying" : "dead")
				.param("holdsKey", this.holdsKey)
				.param("delay", (this.nextAttempt != null) ? this.nextAttempt.toMillis() / 1000d : null)
				.param("errorType", this.errorType)
				.param("errorMessage", this.errorMessage)
				.param("errorStack", this.errorStack);
		}

	}

}
