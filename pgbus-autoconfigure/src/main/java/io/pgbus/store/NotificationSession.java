package io.pgbus.store;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection that listens, and holds the lock which tells that its consumer lives.
 * For one thread, apart from {@link #close()}.
 * <p>
 * A pooler in between may hand the server's session on to others after every transaction.
 * Then nothing may be left in the session: the lock would stay behind in the hands of
 * others. So {@link #open} first makes sure that the connection keeps its session.
 */
final class NotificationSession implements AutoCloseable {

	private static final Logger logger = LoggerFactory.getLogger(NotificationSession.class);

	private static final String BACKEND = "select pg_backend_pid()";

	private static final String LISTEN = "listen %s";

	private static final String NOTIFY = "select pg_notify(?, ?)";

	/**
	 * Shared, so that a new session need not wait for the end of a lost one that the
	 * server still takes for alive. Who looks asks for any holder.
	 */
	private static final String LOCK = """
			select pg_advisory_lock_shared('{bus}.bus'::regclass::oid::integer, ?)
			""";

	private static final String UNLOCK = """
			select pg_advisory_unlock_shared('{bus}.bus'::regclass::oid::integer, ?)
			""";

	/**
	 * Stands in where the pool has no connection for the consumer's own heartbeat, since
	 * handlers hold them all. Else it finds nothing to do.
	 */
	private static final String BEAT = """
			update {bus}.consumer set heartbeat_at = clock_timestamp()
			where id = ? and heartbeat_at < clock_timestamp() - timeout / 4
			""";

	/** Lost sessions would let the consumer seem alive after its end. */
	private static final String END_LOST_SESSIONS = """
			select count(pg_terminate_backend(l.pid)) from pg_locks l
			where l.locktype = 'advisory' and l.granted and l.objsubid = 2
			and l.database = (select d.oid from pg_database d where d.datname = current_database())
			and l.classid = '{bus}.bus'::regclass::oid and l.objid = ?::integer::oid
			and l.pid <> pg_backend_pid()
			""";

	private static final long BEAT_NANOS = 500_000_000;

	/**
	 * How often to look for a session that is handed on. A pooler hands out either the
	 * session used last, which the other connection then meets, or the one used longest
	 * ago, which this connection then sees change. Traffic of others can hide that for a
	 * round, not for all.
	 */
	private static final int ROUNDS = 10;

	private final BusDatabase database;

	private final Connection connection;

	private final PGConnection driver;

	private final int backend;

	private int consumerId = WakeUpMessage.NOBODY;

	private long heardAt = System.nanoTime();

	private long beatAt = System.nanoTime();

	private NotificationSession(BusDatabase database, Connection connection, Duration answerTimeout)
			throws SQLException {
		this.database = database;
		this.connection = connection;
		this.driver = connection.unwrap(PGConnection.class);
		connection.setAutoCommit(true);
		connection.setNetworkTimeout(Runnable::run, Math.toIntExact(answerTimeout.toMillis()));
		this.backend = backend(connection);
	}

	/**
	 * Opens a connection that listens.
	 * @param database the database
	 * @param connections opens the connection
	 * @param answerTimeout how long to wait for an answer of the server
	 * @return the session
	 * @throws SessionNotKeptException if the connection does not keep its session
	 * @throws SQLException if it could not be opened
	 */
	static NotificationSession open(BusDatabase database, NotificationConnectionFactory connections,
			Duration answerTimeout) throws SQLException {
		Connection connection = connections.connect();
		try {
			NotificationSession session = new NotificationSession(database, connection, answerTimeout);
			// A pooler does not pass on by which process id the server knows a session
			boolean direct = session.driver.getBackendPID() == session.backend;
			if (!direct) {
				session.checkKept(connections, answerTimeout);
			}
			session.listen();
			if (!direct) {
				session.checkHears(answerTimeout);
			}
			return session;
		}
		catch (SQLException | RuntimeException ex) {
			closeQuietly(connection);
			throw ex;
		}
	}

	private void checkKept(NotificationConnectionFactory connections, Duration answerTimeout) throws SQLException {
		try (Connection other = connections.connect()) {
			other.setNetworkTimeout(Runnable::run, Math.toIntExact(answerTimeout.toMillis()));
			for (int round = 0; round < ROUNDS; round++) {
				// Twice, or two sessions in turn would never seem to change
				checkStillThere();
				checkStillThere();
				if (backend(other) == this.backend) {
					throw handedOn();
				}
			}
		}
	}

	private void checkStillThere() throws SQLException {
		if (backend(this.connection) != this.backend) {
			throw handedOn();
		}
	}

	private static SessionNotKeptException handedOn() {
		return new SessionNotKeptException("a pooler hands the server's session on to others after every transaction");
	}

	private void listen() throws SQLException {
		try (Statement statement = this.connection.createStatement()) {
			statement.execute(LISTEN.formatted(BusDatabase.quote(channel())));
		}
	}

	private void checkHears(Duration timeout) throws SQLException {
		try (PreparedStatement statement = this.connection.prepareStatement(NOTIFY)) {
			statement.setString(1, channel());
			statement.setString(2, new WakeUpMessage(WakeUpMessage.NOBODY, false, Set.of()).text());
			statement.execute();
		}
		long start = System.nanoTime();
		while (System.nanoTime() - start < timeout.toNanos()) {
			for (PGNotification notification : this.driver.getNotifications(millis(timeout))) {
				if (notification.getPID() == this.backend) {
					return;
				}
			}
		}
		throw new SessionNotKeptException("a pooler does not pass notifications on");
	}

	/**
	 * Takes the lock of a consumer in the place of the one held so far.
	 * @param consumerId the consumer
	 * @return whether it was not held before
	 * @throws SQLException if the connection is lost
	 */
	boolean lock(int consumerId) throws SQLException {
		if (this.consumerId == consumerId) {
			return false;
		}
		run(LOCK, consumerId);
		if (this.consumerId != WakeUpMessage.NOBODY) {
			run(UNLOCK, this.consumerId);
		}
		this.consumerId = consumerId;
		try {
			run(END_LOST_SESSIONS, consumerId);
		}
		catch (SQLException ex) {
			logger.debug("Lost sessions of consumer {} could not be ended", consumerId, ex);
		}
		return true;
	}

	/**
	 * Says that the consumer lives, if it has not done so itself for some time.
	 * @throws SQLException if the connection is lost
	 */
	void beat() throws SQLException {
		if (this.consumerId != WakeUpMessage.NOBODY && System.nanoTime() - this.beatAt >= BEAT_NANOS) {
			run(BEAT, this.consumerId);
			this.beatAt = System.nanoTime();
		}
	}

	/**
	 * Waits until something is heard.
	 * @param timeout how long to wait at most, at least a millisecond
	 * @return what was heard from others, possibly nothing
	 * @throws SQLException if the connection is lost
	 */
	List<WakeUpMessage> await(Duration timeout) throws SQLException {
		List<WakeUpMessage> messages = new ArrayList<>();
		for (PGNotification notification : this.driver.getNotifications(millis(timeout))) {
			this.heardAt = System.nanoTime();
			WakeUpMessage message = WakeUpMessage.parse(notification.getParameter());
			if (message.sender() == WakeUpMessage.NOBODY || message.sender() != this.consumerId) {
				messages.add(message);
			}
		}
		return messages;
	}

	/**
	 * Asks the server for a sign of life if nothing was heard for some time.
	 * @param interval how long it may be silent
	 * @return whether it was asked
	 * @throws SQLException if it does not answer, or in another session
	 */
	boolean probe(Duration interval) throws SQLException {
		if (System.nanoTime() - this.heardAt < interval.toNanos()) {
			return false;
		}
		checkStillThere();
		this.heardAt = System.nanoTime();
		return true;
	}

	/**
	 * Closes the connection, and so ends a wait of another thread.
	 */
	@Override
	public void close() {
		closeQuietly(this.connection);
	}

	String channel() {
		return WakeUpMessage.channel(this.database.schema());
	}

	private void run(String sql, int consumerId) throws SQLException {
		try (PreparedStatement statement = this.connection.prepareStatement(this.database.sql(sql))) {
			statement.setInt(1, consumerId);
			statement.execute();
		}
	}

	private static int backend(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(BACKEND)) {
			row.next();
			return row.getInt(1);
		}
	}

	private static int millis(Duration timeout) {
		return (int) Math.max(1, timeout.toMillis());
	}

	private static void closeQuietly(Connection connection) {
		try {
			connection.close();
		}
		catch (SQLException ex) {
			logger.debug("A connection could not be closed", ex);
		}
	}

}
