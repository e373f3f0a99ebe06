package io.pgbus.benchmarks;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;

/**
 * What a side has: a database of its own, and how much to do.
 *
 * @param jdbcUrl the database, with user
 * @param redisPort the port of Redis, 0 if there is none
 * @param scale how much to do
 */
record Environment(String jdbcUrl, int redisPort, Scale scale) {

	/** Connections of a side's pool: enough for its workers, publishers and the rest. */
	static final int POOL_SIZE = 20;

	Connection connect() throws SQLException {
		return DriverManager.getConnection(this.jdbcUrl);
	}

	HikariDataSource dataSource() {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl(this.jdbcUrl);
		config.setMaximumPoolSize(POOL_SIZE);
		return new HikariDataSource(config);
	}

	void execute(String sql) {
		try (Connection connection = connect(); Statement statement = connection.createStatement()) {
			statement.execute(sql);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	String text(String sql) {
		try (Connection connection = connect();
				Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery(sql)) {
			row.next();
			return row.getString(1);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	long number(String sql) {
		return Long.parseLong(text(sql));
	}

	/**
	 * Waits until this database's slot is there and somebody reads from it.
	 * @throws InterruptedException if it is interrupted
	 */
	void awaitSlot() throws InterruptedException {
		while (number(
				"select count(*) from pg_replication_slots where database = current_database() and active") == 0) {
			Thread.sleep(100);
		}
	}

	Environment other(String database) {
		return new Environment(this.jdbcUrl.replaceFirst("/bench_\\d+", "/" + database), this.redisPort, this.scale);
	}

	/**
	 * Fills a table in transactions of 1,000 rows, as if many had been there, and lets
	 * the server come to rest.
	 * @param insert an insert of the orders that "select i from numbers" yields
	 * @param count how many orders
	 */
	void fill(String insert, long count) {
		try (Connection connection = connect(); Statement statement = connection.createStatement()) {
			statement.execute("set synchronous_commit = off");
			statement.execute("""
					do $$ begin
						for chunk in 0..(%d - 1) / 1000 loop
							with numbers as (
								select i from generate_series(chunk * 1000 + 1, least((chunk + 1) * 1000, %d)) as i
							)
							%s;
							commit;
						end loop;
					end $$""".formatted(count, count, insert));
			statement.execute("vacuum analyze");
			statement.execute("checkpoint");
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
