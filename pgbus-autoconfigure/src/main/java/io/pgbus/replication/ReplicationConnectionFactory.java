package io.pgbus.replication;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;

import org.jspecify.annotations.Nullable;

/**
 * Opens the connections on which changes of tables are read. They must not come from a
 * pool, and no pooler may stand in between: they speak the replication protocol.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface ReplicationConnectionFactory {

	/**
	 * Opens a connection for logical replication, which the caller closes. Should not
	 * take longer than about ten seconds.
	 * @return the connection, which unwraps to one of the PostgreSQL driver
	 * @throws SQLException if the server cannot be reached or refuses
	 */
	Connection connect() throws SQLException;

	/**
	 * Returns a factory that opens connections to a URL. Unless the URL says otherwise
	 * they are called <code>pgbus-capture</code> in <code>pg_stat_activity</code>, are
	 * kept alive by TCP, and opening one is given up after ten seconds.
	 * @param url the JDBC URL of the bus's database, at the server itself
	 * @param username the user, or {@code null} if the URL or the driver's defaults say
	 * it
	 * @param password the password, or {@code null} if the URL or the driver's defaults
	 * say it, or none is needed
	 * @return the factory
	 */
	static ReplicationConnectionFactory of(String url, @Nullable String username, @Nullable String password) {
		// What the URL says as well, the driver takes from there.
		Properties properties = new Properties();
		if (username != null) {
			properties.setProperty("user", username);
		}
		if (password != null) {
			properties.setProperty("password", password);
		}
		properties.setProperty("replication", "database");
		// The replication protocol has only simple queries. Without the version the
		// driver
		// would ask for it in a way that is not one.
		properties.setProperty("preferQueryMode", "simple");
		properties.setProperty("assumeMinServerVersion", "14");
		properties.setProperty("ApplicationName", "pgbus-capture");
		properties.setProperty("tcpKeepAlive", "true");
		properties.setProperty("connectTimeout", "10");
		// With a login timeout the driver can be interrupted while it connects.
		properties.setProperty("loginTimeout", "10");
		return () -> DriverManager.getConnection(url, properties);
	}

}
