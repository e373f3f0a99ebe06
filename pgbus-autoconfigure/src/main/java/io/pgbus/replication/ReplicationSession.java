package io.pgbus.replication;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import io.pgbus.PgBusException;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.replication.LogSequenceNumber;
import org.postgresql.replication.PGReplicationStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One replication connection. For one thread, apart from {@link #close()}.
 */
final class ReplicationSession implements AutoCloseable {

	private static final Logger logger = LoggerFactory.getLogger(ReplicationSession.class);

	/**
	 * How values become text, whatever the defaults of role and database are. Names in
	 * values come with their schema, since nothing is on the search path.
	 */
	private static final String PIN = """
			set datestyle = 'ISO, MDY'; set intervalstyle = 'postgres'; set bytea_output = 'hex';
			set extra_float_digits = 3; set timezone = 'UTC'; set xmloption = 'content'; set lc_monetary = 'C';
			set search_path = ''; set statement_timeout = 0; set idle_session_timeout = 0
			""";

	/** The columns that say which database of which server this is. */
	static final String PLACE = """
			select pg_postmaster_start_time()::text || ' ' || (select oid from pg_database
				where datname = current_database()) as place, current_setting('wal_level') as wal_level,
				pg_is_in_recovery() as in_recovery, pg_backend_pid() as pid
			""";

	private static final String IDENTIFY = "IDENTIFY_SYSTEM";

	/** "skipped loading publication": object not in prerequisite state. */
	static final String SKIPPED = "55000";

	/** The driver's own status messages, besides the capture's. */
	private static final int STATUS_SECONDS = 10;

	private final Connection connection;

	private final CaptureSettings settings;

	private final String systemId;

	private final long serverLsn;

	private String place = "";

	private int pid;

	private volatile @Nullable Statement creating;

	private ReplicationSession(Connection connection, CaptureSettings settings) throws SQLException {
		this.connection = connection;
		this.settings = settings;
		try (Statement statement = connection.createStatement()) {
			statement.execute(PIN);
			readPlace(statement);
			try (ResultSet row = statement.executeQuery(IDENTIFY)) {
				row.next();
				this.systemId = row.getString("systemid");
				this.serverLsn = LogSequenceNumber.valueOf(row.getString("xlogpos")).asLong();
			}
		}
	}

	private void readPlace(Statement statement) throws SQLException {
		try (ResultSet row = statement.executeQuery(PLACE)) {
			row.next();
			this.place = row.getString("place");
			this.pid = row.getInt("pid");
			if (row.getBoolean("in_recovery")) {
				throw new SQLException("the server is a standby", "25006");
			}
			String level = row.getString("wal_level");
			if (!"logical".equals(level)) {
				throw new PgBusException("Table listeners need the server's wal_level to be \"logical\", and it is \""
						+ level + "\". Run: alter system set wal_level = logical; and restart the server. Managed "
						+ "databases have a parameter of their own for it.");
			}
		}
	}

	/**
	 * Opens a connection.
	 * @param connections opens it
	 * @param settings the settings
	 * @return the session
	 * @throws SQLException if the server cannot be reached or refuses
	 * @throws PgBusException if it refuses for a reason with a remedy
	 */
	static ReplicationSession open(ReplicationConnectionFactory connections, CaptureSettings settings)
			throws SQLException {
		Connection connection;
		try {
			connection = connections.connect();
		}
		catch (SQLException ex) {
			throw explained(ex);
		}
		try {
			return new ReplicationSession(connection, settings);
		}
		catch (SQLException | RuntimeException ex) {
			closeQuietly(connection);
			throw ex;
		}
	}

	private static SQLException explained(SQLException ex) {
		String message = String.valueOf(ex.getMessage());
		if ("42501".equals(ex.getSQLState())) {
			throw new PgBusException(
					"Table listeners need a role that may read the write-ahead log, and this one may not. "
							+ "Run as a superuser: alter role ... replication; or set pgbus.capture.username to such a role. "
							+ "Managed databases have a role of their own to grant.",
					ex);
		}
		if (message.contains("max_wal_senders")) {
			throw new PgBusException("The server has no free WAL sender for table listeners. Raise max_wal_senders and "
					+ "restart the server.", ex);
		}
		return ex;
	}

	String systemId() {
		return this.systemId;
	}

	long serverLsn() {
		return this.serverLsn;
	}

	/** Which database of which server this is, until that is restarted. */
	String place() {
		return this.place;
	}

	/** The server process, by its own word: a pooler's is another. */
	int pid() {
		return this.pid;
	}

	@Nullable SlotStatus slot() throws SQLException {
		SlotStatus slot = Slot.inspect(this.connection, this.settings.slot());
		if (slot != null
				&& !("pgoutput".equals(slot.plugin()) && this.connection.getCatalog().equals(slot.database()))) {
			throw new PgBusException(("The replication slot \"%s\" is not this bus's: it is of the plugin %s and the "
					+ "database %s. Set pgbus.capture.slot to a name that no other bus of the server has.")
				.formatted(slot.name(), slot.plugin(), slot.database()));
		}
		return slot;
	}

	/** Makes the slot anew. */
	SlotStatus createSlot(boolean drop) throws SQLException {
		if (drop) {
			Slot.drop(this.connection, this.settings.slot());
		}
		try (Statement statement = this.connection.createStatement()) {
			this.creating = statement;
			Slot.create(statement, this.settings);
		}
		finally {
			this.creating = null;
		}
		return Objects.requireNonNull(slot());
	}

	void dropSlot() throws SQLException {
		Slot.drop(this.connection, this.settings.slot());
	}

	/**
	 * Starts to stream from where the slot is. The session can be used for nothing else
	 * from then on.
	 */
	PGReplicationStream stream() throws SQLException {
		return this.connection.unwrap(PGConnection.class)
			.getReplicationAPI()
			.replicationStream()
			.logical()
			.withAutomaticFlush(false)
			.withSlotName(this.settings.slot())
			.withSlotOption("proto_version", 1)
			.withSlotOption("publication_names", this.settings.publications().option().replace("'", "''"))
			.withStatusInterval(STATUS_SECONDS, TimeUnit.SECONDS)
			.start();
	}

	/**
	 * From PostgreSQL 18 on, the server only warns when a publication was missing at a
	 * place in its log, and leaves changes out.
	 * @throws SQLException the warning, or if the connection is lost
	 */
	void checkNothingWasSkipped() throws SQLException {
		for (SQLWarning warning = this.connection.getWarnings(); warning != null; warning = warning.getNextWarning()) {
			if (SKIPPED.equals(warning.getSQLState())) {
				throw warning;
			}
			logger.debug("The server warns", warning);
		}
		this.connection.clearWarnings();
	}

	/**
	 * Closes the connection. Not the stream: that would wait until the server has sent
	 * all of the transaction that it is at.
	 */
	@Override
	public void close() {
		closeQuietly(this.connection);
	}

	/** Ends to wait for a slot. The server would go on with it without the connection. */
	void cancel() {
		Statement statement = this.creating;
		if (statement != null) {
			try {
				statement.cancel();
			}
			catch (SQLException ex) {
				logger.debug("The making of a slot could not be cancelled", ex);
			}
		}
	}

	/** Ends the connection also where another thread waits in it. */
	void abort() {
		try {
			this.connection.abort(Runnable::run);
		}
		catch (SQLException ex) {
			logger.debug("A replication connection could not be aborted", ex);
		}
	}

	private static void closeQuietly(Connection connection) {
		try {
			connection.close();
		}
		catch (SQLException ex) {
			logger.debug("A replication connection could not be closed", ex);
		}
	}

}
