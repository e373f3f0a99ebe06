package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Collection;
import java.util.Map;

import io.pgbus.PgBusException;

import org.springframework.dao.DuplicateKeyException;

/**
 * What exactly-once handlers have done above their cursor's position.
 * <p>
 * <b>Invariant.</b> The effects of a handler on an event are committed at most once per
 * group. In the handler's transaction this order holds: the ledger row goes in, then,
 * with a later snapshot, the cursor's state is seen to be the claimed version. A
 * successor takes the cursor by deleting that version. If it does so before the look, the
 * look fails; if after it, the successor finds the row when it reads, or meets its unique
 * key when it inserts its own, and waits there for the outcome. Looking first would leave
 * a gap in which the successor comes, finishes and deletes its row again.
 * <p>
 * The transaction must be READ COMMITTED, or the look has the snapshot of the insert.
 *
 * @since 0.1.0
 */
public final class Ledger {

	/**
	 * Keeps a cursor from being moved or deleted from outside while this transaction
	 * lasts, whoever holds it. Who does that takes the same lock for itself alone (see
	 * {@link GroupChanges}), so it meets no handler between its look and its commit.
	 */
	static final String SHARE = """
			select pg_advisory_xact_lock_shared('{bus}.cursor'::regclass::oid::integer, :cursorId::integer)
			""";

	/**
	 * Tells whose transaction this is, so that it can be ended when its process is frozen
	 * (see {@link ConsumerStore#bury}), and shares the cursor.
	 */
	static final String SIGN = """
			select pg_advisory_xact_lock_shared('{bus}.bus'::regclass::oid::integer, -:consumerId::integer),
				pg_advisory_xact_lock_shared('{bus}.cursor'::regclass::oid::integer, :cursorId::integer)
			""";

	private static final String ENTER = """
			insert into {bus}.ledger (cursor_id, event_id) select :cursorId, unnest(:eventIds::bigint[])
			""";

	/** Null: the transaction is not READ COMMITTED. */
	static final String LOOK = """
			select case when current_setting('transaction_isolation') = 'read committed'
				then exists (select from {bus}.cursor_state where cursor_id = :cursorId and version = :version)
			end
			""";

	private final RoundTrip enter;

	/**
	 * Creates the ledger.
	 * @param database the database
	 */
	public Ledger(BusDatabase database) {
		this.enter = database.joiningRoundTrip(SIGN, ENTER, LOOK);
	}

	/**
	 * Enters events as done, in the caller's READ COMMITTED transaction, before their
	 * handler runs in it.
	 * @param claim the claim
	 * @param holder who holds the cursor
	 * @param eventIds the events
	 * @return whether the cursor is still held; if not, the transaction must be rolled
	 * back
	 * @throws DuplicateKeyException if one of the events is done already
	 */
	public boolean enter(Claim claim, Holder holder, Collection<Long> eventIds) {
		Map<String, Object> parameters = Map.of("cursorId", claim.cursorId(), "version", claim.version(), "consumerId",
				holder.consumerId(), "eventIds", eventIds.toArray(new Long[0]));
		return this.enter.run(parameters, (row) -> {
			row.next();
			return isHeld(row);
		});
	}

	/**
	 * Reads what a look has seen.
	 * @throws PgBusException if the look was of no use
	 */
	static boolean isHeld(ResultSet row) throws SQLException {
		boolean held = row.getBoolean(1);
		if (row.wasNull()) {
			throw new PgBusException("Transactions were READ COMMITTED by default when this application started, and "
					+ "are not any more. Events cannot be handled exactly once so. Restart it, or set back "
					+ "default_transaction_isolation or what the pool sets.");
		}
		return held;
	}

}
