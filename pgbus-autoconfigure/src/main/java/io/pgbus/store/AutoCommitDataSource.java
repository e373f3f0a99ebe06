package io.pgbus.store;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;

import javax.sql.DataSource;

import org.springframework.jdbc.datasource.DelegatingDataSource;

/**
 * The same pool under another identity, so that nothing the caller's transaction has
 * bound is met, and with auto-commit whatever the pool's default is.
 */
final class AutoCommitDataSource extends DelegatingDataSource {

	AutoCommitDataSource(DataSource target) {
		super(target);
	}

	@Override
	public Connection getConnection() throws SQLException {
		Connection connection = obtainTargetDataSource().getConnection();
		try {
			if (connection.getAutoCommit()) {
				return connection;
			}
			connection.setAutoCommit(true);
		}
		catch (SQLException ex) {
			connection.close();
			throw ex;
		}
		return restoring(connection);
	}

	/** Not every pool restores what was changed. */
	private static Connection restoring(Connection connection) {
		return (Connection) Proxy.newProxyInstance(AutoCommitDataSource.class.getClassLoader(),
				new Class<?>[] { Connection.class }, (proxy, method, arguments) -> {
					if (method.getName().equals("close") && !connection.isClosed()) {
						connection.setAutoCommit(false);
					}
					try {
						return method.invoke(connection, arguments);
					}
					catch (InvocationTargetException ex) {
						throw ex.getTargetException();
					}
				});
	}

}
