package io.pgbus.replication;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

import io.pgbus.PgBusException;
import io.pgbus.store.BusDatabase;
import org.jspecify.annotations.Nullable;
import org.postgresql.replication.LogSequenceNumber;

/**
 * The replication slot of a bus: from where on the server keeps changes for it.
 *
 * @since 0.1.0
 */
public final class Slot {

	/** Columns that only newer servers have are read by way of JSON. */
	private static final String STATUS = """
			select s.slot_name, s.plugin, s.database, s.active_pid, s.wal_status,
				case when s.wal_status = 'lost' or (to_jsonb(s) ->> 'conflicting')::boolean
					or to_jsonb(s) ->> 'invalidation_reason' is not null
					then coalesce(to_jsonb(s) ->> 'invalidation_reason', 'wal_removed') end as invalidation,
				s.confirmed_flush_lsn::text as confirmed,
				pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::bigint as lag,
				coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn), 0)::bigint as retained,
				s.safe_wal_size
			from pg_replication_slots s where s.slot_name = ?
			""";

	/**
	 * Not by the function of SQL, which would hold back vacuum as long as it waits. These
	 * commands know their words in capitals only.
	 */
	private static final String CREATE = "CREATE_REPLICATION_SLOT \"%s\" LOGICAL pgoutput NOEXPORT_SNAPSHOT";

	private static final String CREATE_FAILOVER = """
			CREATE_REPLICATION_SLOT "%s" LOGICAL pgoutput (SNAPSHOT 'nothing', FAILOVER)""";

	private static final String DROP = "select pg_drop_replication_slot(?)";

	/** Something to decode in this database, however little happens in it. */
	private static final String HEARTBEAT = "select pg_logical_emit_message(false, 'pgbus', '')::text";

	private final BusDatabase database;

	private final String name;

	/**
	 * Creates the slot's keeper, which does nothing yet.
	 * @param database the database
	 * @param settings has the name of the slot
	 */
	public Slot(BusDatabase database, CaptureSettings settings) {
		this.database = database;
		this.name = settings.slot();
	}

	/**
	 * Looks at the slot, in a transaction of its own.
	 * @return the slot, or {@code null} if the server has none of that name
	 */
	public @Nullable SlotStatus status() {
		return this.database
			.inOwnTransaction((jdbc) -> jdbc.sql(STATUS).param(this.name).query((row, index) -> read(row)).list())
			.stream()
			.findFirst()
			.orElse(null);
	}

	/** Which database of which server the bus is in, as a session's place. */
	String place() {
		return this.database.inOwnTransaction(
				(jdbc) -> jdbc.sql(ReplicationSession.PLACE).query((row, index) -> row.getString("place")).single());
	}

	/**
	 * Writes to the log what the stream will pass, so that the slot can follow.
	 */
	void heartbeat() {
		this.database.inOwnTransaction((jdbc) -> jdbc.sql(HEARTBEAT).query(String.class).single());
	}

	static @Nullable SlotStatus inspect(Connection connection, String name) throws SQLException {
		try (PreparedStatement statement = connection.prepareStatement(STATUS)) {
			statement.setString(1, name);
			try (ResultSet row = statement.executeQuery()) {
				return row.next() ? read(row) : null;
			}
		}
	}

	private static SlotStatus read(ResultSet row) throws SQLException {
		String confirmed = row.getString("confirmed");
		int activePid = row.getInt("active_pid");
		Integer active = row.wasNull() ? null : activePid;
		long safe = row.getLong("safe_wal_size");
		Long safeBytes = row.wasNull() ? null : safe;
		return new SlotStatus(row.getString("slot_name"), row.getString("plugin"), row.getString("database"), active,
				row.getString("wal_status"), row.getString("invalidation"),
				(confirmed != null) ? LogSequenceNumber.valueOf(confirmed).asLong() : 0, row.getLong("lag"),
				row.getLong("retained"), safeBytes);
	}

	/**
	 * Makes the slot, and waits for the transactions that write at this moment.
	 * @param statement a statement of a replication connection
	 * @param settings the settings
	 * @throws SQLException if it could not be made
	 * @throws PgBusException if the server's settings do not allow it, with the remedy
	 */
	static void create(Statement statement, CaptureSettings settings) throws SQLException {
		boolean failover = settings.failover()
				&& statement.getConnection().getMetaData().getDatabaseMajorVersion() >= 17;
		try {
			statement.execute((failover ? CREATE_FAILOVER : CREATE).formatted(settings.slot()));
		}
		catch (SQLException ex) {
			if ("53400".equals(ex.getSQLState())) {
				throw new PgBusException("The replication slot \"" + settings.slot()
						+ "\" could not be made: the server "
						+ "has no free one. Raise max_replication_slots and restart the server, or drop a slot that "
						+ "nobody uses: select slot_name, active from pg_replication_slots;", ex);
			}
			throw ex;
		}
	}

	static void drop(Connection connection, String name) throws SQLException {
		try (PreparedStatement statement = connection.prepareStatement(DROP)) {
			statement.setString(1, name);
			statement.execute();
		}
	}

}
