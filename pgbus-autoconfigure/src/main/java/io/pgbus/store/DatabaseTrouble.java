package io.pgbus.store;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;

import org.springframework.dao.PessimisticLockingFailureException;
import org.springframework.jdbc.CannotGetJdbcConnectionException;
import org.springframework.transaction.CannotCreateTransactionException;

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

	private static DatabaseTrouble ofOne(Throwable cause) {
		if (cause instanceof SQLException ex && ex.getSQLState() != null) {
			String state = ex.getSQLState();
			// connection exceptions, and a server that shuts down, crashed or starts
			if (state.startsWith("08") || state.startsWith("57P") || "53300".equals(state)) {
				return OUTAGE;
			}
			return ("40001".equals(state) || "40P01".equals(state)) ? CONFLICT : NONE;
		}
		if (cause instanceof SQLTransientConnectionException || cause instanceof CannotGetJdbcConnectionException
				|| cause instanceof CannotCreateTransactionException) {
			return OUTAGE;
		}
		return (cause instanceof PessimisticLockingFailureException) ? CONFLICT : NONE;
	}

}
