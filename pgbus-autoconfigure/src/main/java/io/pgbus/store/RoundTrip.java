package io.pgbus.store;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.core.ResultSetExtractor;
import org.springframework.jdbc.core.SqlParameterValue;
import org.springframework.jdbc.core.namedparam.MapSqlParameterSource;
import org.springframework.jdbc.core.namedparam.NamedParameterUtils;
import org.springframework.jdbc.core.namedparam.ParsedSql;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;
import org.springframework.jdbc.support.SQLExceptionTranslator;

/**
 * Several statements that the driver sends without waiting for an answer in between. In
 * READ COMMITTED each has a snapshot of its own.
 */
final class RoundTrip {

	private static final SQLExceptionTranslator TRANSLATOR = new SQLExceptionSubclassTranslator();

	/**
	 * None of these statements waits for others, so an answer that takes this long will
	 * not come, and a worker must not wait for it until TCP gives up.
	 */
	private static final int NETWORK_TIMEOUT_MILLIS = 60_000;

	/**
	 * A null for what is cast, with a type. Of a statement with a value whose type it
	 * does not know the driver asks for a description, and then sends it only when all
	 * before it are answered, as it knows by then that its rows may be long.
	 */
	static final SqlParameterValue NULL = new SqlParameterValue(Types.VARCHAR, null);

	private final DataSource dataSource;

	private final boolean own;

	private final @Nullable ParsedSql parsed;

	private final String positional;

	private RoundTrip(DataSource dataSource, boolean own, String statements) {
		this.dataSource = dataSource;
		this.own = own;
		this.parsed = NamedParameterUtils.parseSqlStatement(statements);
		this.positional = NamedParameterUtils.substituteNamedParameters(this.parsed, null);
	}

	private RoundTrip(DataSource dataSource, String positional) {
		this.dataSource = dataSource;
		this.own = true;
		this.parsed = null;
		this.positional = positional;
	}

	/**
	 * Statements that are one READ COMMITTED transaction, whatever the pool's defaults
	 * are, on a connection of their own.
	 */
	static RoundTrip own(DataSource dataSource, String statements) {
		return new RoundTrip(dataSource, true,
				"begin isolation level read committed read write;\n" + statements + ";\ncommit");
	}

	/**
	 * Statements that are one READ COMMITTED transaction that may not write, with
	 * question marks for parameters. Only the driver looks for them, and it knows every
	 * form of literal and quoted name, so that the statements may hold names and
	 * conditions that users wrote.
	 */
	static RoundTrip ownReadOnly(DataSource dataSource, String statements) {
		return new RoundTrip(dataSource,
				"begin isolation level read committed read only;\n" + statements + ";\ncommit");
	}

	/**
	 * Statements that only read, on a connection of their own, and that need not see the
	 * same. Nothing begins a transaction, but what is sent at once is one: settings for
	 * the transaction hold for the statements after them.
	 */
	static RoundTrip look(DataSource dataSource, String statements) {
		return new RoundTrip(dataSource, true, statements);
	}

	/** Statements that run in the caller's transaction. */
	static RoundTrip joining(DataSource dataSource, String statements) {
		return new RoundTrip(dataSource, false, statements);
	}

	/**
	 * Runs the statements.
	 * @param <T> the type of the result
	 * @param parameters the named parameters
	 * @param reader reads the last result set
	 * @return what the reader made of it
	 * @throws DataAccessException if a statement fails; nothing has been committed then,
	 * unless the connection was lost while committing
	 */
	<T> T run(Map<String, ? extends @Nullable Object> parameters, ResultSetExtractor<T> reader) {
		return runAll(parameters, (statement) -> reader.extractData(lastResultSet(statement)));
	}

	/**
	 * Runs the statements.
	 * @param <T> the type of the result
	 * @param values the values for the question marks
	 * @param reader reads the last result set
	 * @return what the reader made of it
	 * @throws DataAccessException if a statement fails, as above
	 */
	<T> T run(List<? extends @Nullable Object> values, ResultSetExtractor<T> reader) {
		return runWith(values.toArray(), (statement) -> reader.extractData(lastResultSet(statement)));
	}

	/**
	 * Runs the statements.
	 * @param parameters the named parameters
	 * @return how many rows they have changed
	 * @throws DataAccessException if a statement fails, as above
	 */
	int update(Map<String, ? extends @Nullable Object> parameters) {
		return runAll(parameters, RoundTrip::changedRows);
	}

	private <T> T runAll(Map<String, ? extends @Nullable Object> parameters, Results<T> results) {
		ParsedSql parsedSql = Objects.requireNonNull(this.parsed, "The parameters have no names");
		return runWith(NamedParameterUtils.buildValueArray(parsedSql, new MapSqlParameterSource(parameters), null),
				results);
	}

	private <T> T runWith(@Nullable Object[] values, Results<T> results) {
		try {
			return this.own ? runOwn(values, results) : runJoining(values, results);
		}
		catch (SQLException ex) {
			DataAccessException translated = TRANSLATOR.translate("pgbus", this.positional, ex);
			throw (translated != null) ? translated : new UncategorizedSQLException("pgbus", this.positional, ex);
		}
	}

	private <T> T runJoining(@Nullable Object[] values, Results<T> results) throws SQLException {
		Connection connection = DataSourceUtils.getConnection(this.dataSource);
		try {
			return execute(connection, values, results);
		}
		finally {
			DataSourceUtils.releaseConnection(connection, this.dataSource);
		}
	}

	private <T> T runOwn(@Nullable Object[] values, Results<T> results) throws SQLException {
		try (Connection connection = this.dataSource.getConnection()) {
			int networkTimeout = connection.getNetworkTimeout();
			connection.setNetworkTimeout(Runnable::run, NETWORK_TIMEOUT_MILLIS);
			try {
				return execute(connection, values, results);
			}
			catch (SQLException | RuntimeException ex) {
				rollback(connection, ex);
				throw ex;
			}
			finally {
				if (!connection.isClosed()) {
					connection.setNetworkTimeout(Runnable::run, networkTimeout);
				}
			}
		}
	}

	private <T> T execute(Connection connection, @Nullable Object[] values, Results<T> results) throws SQLException {
		try (PreparedStatement statement = connection.prepareStatement(this.positional)) {
			bind(statement, values);
			statement.execute();
			return results.read(statement);
		}
	}

	private static void bind(PreparedStatement statement, @Nullable Object[] values) throws SQLException {
		for (int i = 0; i < values.length; i++) {
			if (values[i] instanceof SqlParameterValue typed) {
				statement.setObject(i + 1, typed.getValue(), typed.getSqlType());
			}
			else {
				statement.setObject(i + 1, values[i]);
			}
		}
	}

	private static ResultSet lastResultSet(PreparedStatement statement) throws SQLException {
		ResultSet last = null;
		do {
			ResultSet current = statement.getResultSet();
			last = (current != null) ? current : last;
		}
		while (statement.getMoreResults(Statement.KEEP_CURRENT_RESULT) || statement.getUpdateCount() != -1);
		if (last == null) {
			throw new IllegalStateException("No statement of the round trip had a result");
		}
		return last;
	}

	private static int changedRows(PreparedStatement statement) throws SQLException {
		int changed = 0;
		do {
			changed += Math.max(statement.getUpdateCount(), 0);
		}
		while (statement.getMoreResults() || statement.getUpdateCount() != -1);
		return changed;
	}

	/**
	 * Ends the transaction that the statements began. In auto-commit neither the driver
	 * nor the pool knows of it, and it would be handed on with the connection.
	 */
	private static void rollback(Connection connection, Exception cause) {
		try (Statement statement = connection.createStatement()) {
			statement.execute("rollback");
		}
		catch (SQLException ex) {
			cause.addSuppressed(ex);
		}
	}

	@FunctionalInterface
	private interface Results<T> {

		T read(PreparedStatement statement) throws SQLException;

	}

}
