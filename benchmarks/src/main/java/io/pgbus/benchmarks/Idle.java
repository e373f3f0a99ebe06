package io.pgbus.benchmarks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;

/**
 * Counts what reaches the server while listeners have nothing to do: statements in the
 * server's log, begins and commits among them, and transactions in its statistics.
 */
final class Idle implements Side {

	private final Environment environment;

	private final Technology technology;

	private final Duration duration;

	/**
	 * Starts to listen. Only sessions that begin after the statements are to be logged
	 * are counted, so nothing may be connected before.
	 * @param environment the environment
	 * @param start makes the technology
	 * @param listeners how many listeners
	 * @param duration how long to count
	 * @throws Exception if it fails
	 */
	Idle(Environment environment, Start start, int listeners, Duration duration) throws Exception {
		this.environment = environment;
		environment.execute("""
				do $$ begin
					execute format('alter database %I set log_statement = %L', current_database(), 'all');
				end $$""");
		this.technology = start.start();
		this.duration = duration;
		for (int i = 0; i < listeners; i++) {
			this.technology.consume(Consumption.live(1), (order) -> {
			});
		}
	}

	@Override
	public void warmUp() throws Exception {
		// what is done once after the start
		Thread.sleep(3000);
	}

	@Override
	public Map<Metric, Double> round() throws Exception {
		String database = this.environment.text("select current_database()");
		try (Connection admin = this.environment.other("postgres").connect()) {
			long transactions = transactions(admin, database);
			long offset = number(admin, "select size from pg_stat_file(pg_current_logfile())");
			long start = System.nanoTime();
			Thread.sleep(this.duration.toMillis());
			double seconds = (System.nanoTime() - start) / 1e9;
			long end = number(admin, "select size from pg_stat_file(pg_current_logfile())");
			long statements = log(admin, offset, end - offset).lines()
				.filter((line) -> line.startsWith(database + ",")
						&& (line.contains("LOG:  execute ") || line.contains("LOG:  statement: ")))
				.count();
			long done = transactions(admin, database) - transactions;
			// statistics come late by up to a second, so a few transactions may be from
			// before
			if (statements == 0 && done > 2 * seconds) {
				throw new IllegalStateException(done + " transactions without a statement in the log");
			}
			return Map.of(Metric.STATEMENTS, statements / seconds, Metric.TRANSACTIONS, done / seconds);
		}
	}

	private static long transactions(Connection admin, String database) throws SQLException {
		return number(admin,
				"select xact_commit + xact_rollback from pg_stat_database where datname = '" + database + "'");
	}

	private static long number(Connection connection, String sql) throws SQLException {
		try (PreparedStatement select = connection.prepareStatement(sql); ResultSet row = select.executeQuery()) {
			row.next();
			return row.getLong(1);
		}
	}

	private static String log(Connection connection, long offset, long length) throws SQLException {
		try (PreparedStatement select = connection
			.prepareStatement("select pg_read_file(pg_current_logfile(), ?, ?)")) {
			select.setLong(1, offset);
			select.setLong(2, length);
			try (ResultSet row = select.executeQuery()) {
				row.next();
				return row.getString(1);
			}
		}
	}

	@Override
	public void close() throws Exception {
		this.technology.close();
	}

	/**
	 * Makes a technology.
	 */
	interface Start {

		Technology start() throws Exception;

	}

	/**
	 * A figure that was set as an aim.
	 *
	 * @param figures the figures
	 */
	record Aim(Map<Metric, Double> figures) implements Side {

		@Override
		public Map<Metric, Double> round() {
			return this.figures;
		}

	}

}
