package io.pgbus.benchmarks;

import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;

/**
 * The one PostgreSQL of all sides, as durable as in production.
 *
 * @param postgres the server
 */
record Server(EmbeddedPostgres postgres) implements AutoCloseable {

	/** What is not as PostgreSQL has it by default. */
	static final Map<String, String> SETTINGS = settings();

	private static Map<String, String> settings() {
		Map<String, String> settings = new LinkedHashMap<>();
		// the embedded server switches it off by itself
		settings.put("fsync", "on");
		settings.put("synchronous_commit", "on");
		settings.put("full_page_writes", "on");
		settings.put("wal_level", "logical");
		settings.put("shared_buffers", "512MB");
		settings.put("max_wal_size", "4GB");
		settings.put("max_connections", "300");
		settings.put("max_replication_slots", "20");
		settings.put("max_wal_senders", "20");
		// the number of statements is counted in it
		settings.put("logging_collector", "on");
		settings.put("log_rotation_size", "0");
		settings.put("log_line_prefix", "%d,");
		return settings;
	}

	static Server start() throws IOException, SQLException {
		EmbeddedPostgres.Builder builder = EmbeddedPostgres.builder()
			.setPGStartupWait(Duration.ofSeconds(60))
			.setLocaleConfig("locale", "C");
		SETTINGS.forEach(builder::setServerConfig);
		Server server = new Server(builder.start());
		for (String name : new String[] { "fsync", "synchronous_commit", "full_page_writes" }) {
			if (!server.show(name).equals("on")) {
				throw new IllegalStateException(name + " is not on");
			}
		}
		return server;
	}

	String show(String setting) throws SQLException {
		try (Connection connection = connect();
				Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery("show " + setting)) {
			row.next();
			return row.getString(1);
		}
	}

	String url(String database) {
		return "jdbc:postgresql://localhost:" + this.postgres.getPort() + "/" + database
				+ "?user=postgres&password=postgres";
	}

	private Connection connect() throws SQLException {
		return DriverManager.getConnection(url("postgres"));
	}

	void createDatabase(String name) throws SQLException {
		execute("create database " + name);
	}

	void dropDatabase(String name) throws SQLException, InterruptedException {
		execute("""
				select pg_terminate_backend(active_pid, 10000) from pg_replication_slots
				where database = '%s' and active_pid is not null""".formatted(name));
		execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = '%s'"
			.formatted(name));
		execute("drop database if exists " + name + " with (force)");
	}

	private void execute(String sql) throws SQLException {
		try (Connection connection = connect(); Statement statement = connection.createStatement()) {
			statement.execute(sql);
		}
	}

	@Override
	public void close() throws IOException {
		this.postgres.close();
	}

}
