package io.pgbus.store;

import java.sql.SQLException;
import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.dao.PessimisticLockingFailureException;
import org.springframework.jdbc.CannotGetJdbcConnectionException;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.TransactionSystemException;

/**
 * What an exception says about the database, as opposed to the work that was done with
 * it.
 *
 * @since 0.1.0
 */
public enum DatabaseTrouble {

	/** The database could not be reached, or went away: the work may be fine. */
	OUTAGE,

	/** Transactions got into each other's way: the work may be done again at once. */
	CONFLICT,

	/** The database has nothing to do with it. */
	NONE;

	/**
	 * The connection is lost; the server shuts down, has crashed or starts; it has no
	 * resources; it has become a standby.
	 */
	private static final List<String> OUTAGES = List.of("08", "57P", "53", "25006");

	/**
	 * Looks through an exception and its causes.
	 * @param throwable the exception
	 * @return what it says
	 */
	public static DatabaseTrouble of(Throwable throwable) {
		int depth = 0;
		for (Throwable cause = throwable; cause != null && depth < 50; cause = cause.getCause()) {
			DatabaseTrouble trouble = ofOne(cause);
			if (trouble != NONE) {
				return trouble;
			}
			depth++;
		}
		return NONE;
	}

	/** Tells whether a lock was not granted within the lock timeout. */
	static boolean isLockTimeout(DataAccessException ex) {
		return ex.getMostSpecificCause() instanceof SQLException cause && "55P03".equals(cause.getSQLState());
	}

	private static DatabaseTrouble ofOne(Throwable cause) {
		if (cause instanceof SQLException ex) {
			return ofState(ex.getSQLState());
		}
		if (cause instanceof TransactionSystemException ex && ex.getApplicationException() != null) {
			// the cause is why the rollback failed as well
			return of(ex.getApplicationException());
		}
		if (cause instanceof CannotGetJdbcConnectionException || cause instanceof CannotCreateTransactionException) {
			return OUTAGE;
		}
		return (cause instanceof PessimisticLockingFailureException) ? CONFLICT : NONE;
	}

	private static DatabaseTrouble ofState(@Nullable String state) {
		// What has no state is not from the server but from a pool, which has no
		// connection, or has taken away one that was lost.
		if (state == null || OUTAGES.stream().anyMatch(state::startsWith)) {
			return OUTAGE;
		}
		return ("40001".equals(state) || "40P01".equals(state)) ? CONFLICT : NONE;
	}

}
