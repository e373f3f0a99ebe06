package io.pgbus.store;

import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.dao.PessimisticLockingFailureException;
import org.springframework.jdbc.core.simple.JdbcClient.StatementSpec;

/**
 * Retries and discards failed events from outside, while listeners may be working on
 * them.
 * <p>
 * <b>Invariant.</b> That of {@link FailureStore} is kept. Each event is changed in a
 * transaction of its own, which keeps other changes of the cursor's failed events away
 * but for those of handlers' transactions; these have locked the events they touch, and
 * an event that is locked is left alone. Where a handler is at an event without a
 * transaction, what it records of it in the end is only recorded if the event still is as
 * it was found.
 *
 * @since 0.1.0
 */
public final class FailureChanges {

	static final String CHOOSE = """
			select f.cursor_id, f.event_id
			from {bus}.consumer_group g
			join {bus}.cursor c on c.group_id = g.id
			cross join lateral (
				select f.cursor_id, f.event_id from {bus}.failed_event f
				where f.cursor_id = c.id and f.state = any(:states) and %s
				and (:dueToo or f.state <> 'retrying' or f.next_attempt_at > clock_timestamp())
				order by f.event_id limit :limit
			) f
			where g.name = :group
			order by f.event_id limit :limit
			""".formatted(FailureFilter.MATCHES);

	private static final String WAIT_ONE_SECOND = "select set_config('lock_timeout', '1s', true)";

	/** It may have changed since it was chosen. */
	private static final String LOCK_EVENT = """
			select f.key, f.state, f.holds_key, f.ordinal from {bus}.failed_event f
			where f.cursor_id = :cursorId and f.event_id = :eventId and (:state::text is null or f.state = :state)
			for update nowait
			""";

	private static final String LOCK_HEAD = """
			select f.event_id, f.ordinal from {bus}.failed_event f
			where f.cursor_id = :cursorId and f.key = :key and f.holds_key
			order by f.ordinal limit 1
			for update nowait
			""";

	private static final String HURRY = """
			update {bus}.failed_event set next_attempt_at = clock_timestamp()
			where cursor_id = :cursorId and event_id = :eventId and state = 'retrying'
			""";

	private static final String REVIVE = """
			update {bus}.failed_event
			set state = :newState, holds_key = key is not null, attempts = 0,
				next_attempt_at = case when :newState = 'retrying' then clock_timestamp() end
			where cursor_id = :cursorId and event_id = :eventId
			""";

	private static final String HOLD_AGAIN = """
			update {bus}.failed_event set state = 'held', next_attempt_at = null
			where cursor_id = :cursorId and event_id = :eventId
			""";

	private static final String DELETE = """
			delete from {bus}.failed_event where cursor_id = :cursorId and event_id = :eventId
			""";

	/** An event above the position may be read again, and must be found done then. */
	private static final String ENTER_IF_AHEAD = """
			insert into {bus}.ledger (cursor_id, event_id)
			select c.id, e.id
			from {bus}.cursor c
			%s
			join {bus}.event e on e.stream_id = c.stream_id and e.partition = c.partition and e.id = :eventId
			where c.id = :cursorId and e.id > s.position and not pg_visible_in_snapshot(e.tx, s.low_snapshot)
			on conflict do nothing
			""".formatted(CursorStore.STATE);

	private final BusDatabase database;

	private final RoundTrip choose;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public FailureChanges(BusDatabase database) {
		this.database = database;
		this.choose = BusStatus.look(database, CHOOSE);
	}

	/**
	 * Lets events be tried at once: a dead one with all attempts anew and in front of the
	 * later ones with its key, one that waits for its next attempt with those that are
	 * left. One that is held has to wait for those in front of it.
	 * @param group the name of the group
	 * @param filter which of its failed events
	 * @param limit the most events to change
	 * @return what was done
	 */
	public Result retry(String group, FailureFilter filter, int limit) {
		// of many, those that are due already are passed over, or the next call would
		// find them again
		List<Chosen> chosen = choose(group, filter, limit + 1, filter.eventId() != null, "dead", "retrying");
		return change(chosen, filter, limit, this::retry);
	}

	/**
	 * Takes events for handled, and gives those that were held behind them their turn.
	 * @param group the name of the group
	 * @param filter which of its failed events
	 * @param limit the most events to change
	 * @return what was done
	 */
	public Result discard(String group, FailureFilter filter, int limit) {
		List<Chosen> chosen = choose(group, filter, limit + 1, true, "dead", "retrying", "held");
		return change(chosen, filter, limit, this::discard);
	}

	private Result change(List<Chosen> chosen, FailureFilter filter, int limit, Change change) {
		int changed = 0;
		int busy = 0;
		for (Chosen event : chosen.subList(0, Math.min(limit, chosen.size()))) {
			try {
				changed += Boolean.TRUE.equals(
						this.database.ownTransaction().execute((status) -> changeOne(event, filter, change))) ? 1 : 0;
			}
			catch (DataAccessException ex) {
				if (!isBusy(ex)) {
					throw ex;
				}
				busy++;
			}
		}
		return new Result(changed, busy, chosen.size() > limit);
	}

	private List<Chosen> choose(String group, FailureFilter filter, int limit, boolean dueToo, String... states) {
		Map<String, @Nullable Object> parameters = filter.parameters();
		parameters.put("group", group);
		parameters.put("states", states);
		parameters.put("dueToo", dueToo);
		parameters.put("limit", limit);
		return this.choose.run(parameters,
				BusStatus.list((row, index) -> new Chosen(row.getInt("cursor_id"), row.getLong("event_id"))));
	}

	private boolean changeOne(Chosen event, FailureFilter filter, Change change) {
		this.database.own(WAIT_ONE_SECOND).query().listOfRows();
		this.database.own(FailureStore.LOCK).param("cursorId", event.cursorId()).query().listOfRows();
		Optional<Found> found = of(LOCK_EVENT, event).param("state", filter.state())
			.query((row, index) -> new Found(row.getString("key"), row.getString("state"), row.getBoolean("holds_key"),
					row.getLong("ordinal")))
			.optional();
		found.ifPresent((it) -> change.apply(event, it));
		return found.isPresent();
	}

	private void retry(Chosen event, Found found) {
		if (!found.state().equals("dead")) {
			of(HURRY, event).update();
			return;
		}
		Optional<Head> head = (found.key() != null) ? head(event, found.key()) : Optional.empty();
		boolean isBehind = head.isPresent() && head.get().ordinal() < found.ordinal();
		of(REVIVE, event).param("newState", isBehind ? "held" : "retrying").update();
		if (head.isPresent() && head.get().ordinal() > found.ordinal()) {
			of(HOLD_AGAIN, new Chosen(event.cursorId(), head.get().eventId())).update();
		}
	}

	private Optional<Head> head(Chosen event, String key) {
		return this.database.own(LOCK_HEAD)
			.param("cursorId", event.cursorId())
			.param("key", key)
			.query((row, index) -> new Head(row.getLong("event_id"), row.getLong("ordinal")))
			.optional();
	}

	private void discard(Chosen event, Found found) {
		of(DELETE, event).update();
		if (found.key() != null && found.holdsKey()) {
			this.database.own(FailureStore.PROMOTE)
				.param("cursorId", event.cursorId())
				.param("key", found.key())
				.update();
		}
		of(ENTER_IF_AHEAD, event).update();
	}

	private StatementSpec of(String sql, Chosen event) {
		return this.database.own(sql).param("cursorId", event.cursorId()).param("eventId", event.eventId());
	}

	private static boolean isBusy(DataAccessException ex) {
		return ex instanceof PessimisticLockingFailureException || DatabaseTrouble.isLockTimeout(ex);
	}

	private interface Change {

		void apply(Chosen event, Found found);

	}

	private record Chosen(int cursorId, long eventId) {

	}

	private record Found(@Nullable String key, String state, boolean holdsKey, long ordinal) {

	}

	private record Head(long eventId, long ordinal) {

	}

	/**
	 * What was done to failed events.
	 *
	 * @param changed how many were changed
	 * @param busy how many were left alone, since they are being handled
	 * @param more whether there are more than were looked at
	 */
	public record Result(int changed, int busy, boolean more) {

	}

}
