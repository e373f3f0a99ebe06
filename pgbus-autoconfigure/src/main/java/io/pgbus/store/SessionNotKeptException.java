package io.pgbus.store;

import java.sql.SQLException;

/**
 * A connection does not keep its session of the server, so it cannot listen.
 */
final class SessionNotKeptException extends SQLException {

	private static final long serialVersionUID = 1L;

	SessionNotKeptException(String reason) {
		super(reason);
	}

}
