package io.pgbus.sample;

import java.util.UUID;

import org.postgresql.ds.PGSimpleDataSource;

import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * A database in a server that was already running. It is created and dropped with the
 * application context.
 */
class TemporaryDatabase implements JdbcConnectionDetails, AutoCloseable {

	private final String name = "shop_test_" + UUID.randomUUID().toString().replace("-", "");

	private final JdbcClient server;

	private final PGSimpleDataSource database;

	/**
	 * Creates a database.
	 * @param url the server's JDBC URL, which may have the user and the password
	 * @param username the user if the URL has none; may create databases
	 * @param password the password if the URL has none
	 */
	TemporaryDatabase(String url, String username, String password) {
		this.server = JdbcClient.create(dataSource(url, username, password));
		this.server.sql("create database " + this.name).update();
		this.database = dataSource(url, username, password);
		this.database.setDatabaseName(this.name);
	}

	private static PGSimpleDataSource dataSource(String url, String username, String password) {
		PGSimpleDataSource dataSource = new PGSimpleDataSource();
		dataSource.setUrl(url);
		if (dataSource.getUser() == null) {
			dataSource.setUser(username);
		}
		if (dataSource.getPassword() == null) {
			dataSource.setPassword(password);
		}
		return dataSource;
	}

	@Override
	public String getJdbcUrl() {
		return this.database.getURL();
	}

	@Override
	public String getUsername() {
		return this.database.getUser();
	}

	@Override
	public String getPassword() {
		return this.database.getPassword();
	}

	/** A database that has a replication slot cannot be dropped. */
	@Override
	public void close() {
		this.server.sql("select pg_terminate_backend(active_pid) from pg_replication_slots where database = ?")
			.param(this.name)
			.query()
			.listOfRows();
		this.server.sql("select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = ?")
			.param(this.name)
			.query()
			.listOfRows();
		this.server.sql("drop database " + this.name + " with (force)").update();
	}

}
