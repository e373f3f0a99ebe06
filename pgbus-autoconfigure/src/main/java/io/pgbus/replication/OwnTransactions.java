package io.pgbus.replication;

import java.util.function.Function;

import io.pgbus.store.BusDatabase;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * READ COMMITTED transactions on the bus's DataSource that the caller's transaction has
 * nothing to do with.
 */
final class OwnTransactions {

	private final JdbcClient jdbc;

	private final TransactionTemplate transaction;

	OwnTransactions(BusDatabase database) {
		// Spring binds transactions to the DataSource: to this one, which nobody else
		// has.
		DelegatingDataSource apart = new DelegatingDataSource(database.dataSource());
		this.jdbc = JdbcClient.create(apart);
		this.transaction = new TransactionTemplate(new JdbcTransactionManager(apart));
		this.transaction.setIsolationLevel(TransactionDefinition.ISOLATION_READ_COMMITTED);
	}

	/**
	 * Runs work in a transaction.
	 * @param <T> the type of the result
	 * @param work the work
	 * @return its result
	 */
	@SuppressWarnings("NullAway") // the result is null only if the work's is
	<T> T run(Function<JdbcClient, T> work) {
		return this.transaction.execute((status) -> work.apply(this.jdbc));
	}

}
