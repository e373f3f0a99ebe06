package io.pgbus.store;

import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.BeanWrapper;
import org.springframework.beans.BeanWrapperImpl;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.ResourceHolderSupport;
import org.springframework.transaction.support.TransactionOperations;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.ConcurrentLruCache;

/**
 * The database the bus lives in: its DataSource, the name of its schema, and the two
 * kinds of transactions that statements run in: the caller's, or one of the bus's own.
 *
 * @since 0.1.0
 */
public final class BusDatabase {

	/** The name of the bus's schema by default. */
	public static final String DEFAULT_SCHEMA = "pgbus";

	private static final TransactionDefinition SUPPORTS = new DefaultTransactionDefinition(
			TransactionDefinition.PROPAGATION_SUPPORTS);

	private static final String ISOLATION = "select current_setting('transaction_isolation')";

	private static final Pattern BUS = Pattern.compile("'?\\{bus}");

	private static final int STATEMENTS = 256;

	/** PostgreSQL would cut what is longer. */
	private static final int MAX_NAME_BYTES = 63;

	private final DataSource dataSource;

	/** For statements that the caller's transaction has nothing to do with. */
	private final DataSource apart;

	private final String schema;

	private final String quotedSchema;

	private final ConcurrentLruCache<String, String> withSchema = new ConcurrentLruCache<>(STATEMENTS, this::putSchema);

	private final JdbcClient joining;

	private final JdbcClient own;

	private final TransactionTemplate ownTransaction;

	private final TransactionTemplate aloneTransaction;

	private volatile @Nullable Boolean readsCommitted;

	/** Only looks whether there is a transaction. */
	private final JdbcTransactionManager probe;

	/**
	 * Creates the database.
	 * @param dataSource the DataSource
	 * @param schema the name of the bus's schema, any text that PostgreSQL takes as a
	 * name
	 */
	public BusDatabase(DataSource dataSource, String schema) {
		this.dataSource = targetOf(dataSource);
		this.apart = new AutoCommitDataSource(this.dataSource);
		this.schema = schema;
		this.quotedSchema = quote(schema);
		this.joining = JdbcClient.create(this.dataSource);
		this.own = JdbcClient.create(this.apart);
		this.ownTransaction = new TransactionTemplate(new JdbcTransactionManager(this.apart));
		this.ownTransaction.setIsolationLevel(TransactionDefinition.ISOLATION_READ_COMMITTED);
		this.aloneTransaction = new TransactionTemplate(new JdbcTransactionManager(this.dataSource));
		this.probe = new JdbcTransactionManager(this.dataSource);
		this.probe.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
	}

	/**
	 * Returns the DataSource that Spring binds transactions to.
	 * @return the DataSource
	 */
	public DataSource dataSource() {
		return this.dataSource;
	}

	/**
	 * Returns the name of the bus's schema, not quoted.
	 * @return the name
	 */
	public String schema() {
		return this.schema;
	}

	/**
	 * Returns the name of the database on its server.
	 * @return the name
	 */
	public String name() {
		return own("select current_database()").query(String.class).single();
	}

	/**
	 * Returns what tells the bus in this database from all others.
	 * @return the id
	 */
	public UUID busId() {
		return own("select id from {bus}.bus").query(UUID.class).single();
	}

	/**
	 * Tells whether the caller is in a Spring transaction on this DataSource. A
	 * connection that is merely kept for the caller, in the scope of another DataSource's
	 * transaction or of {@code PROPAGATION_SUPPORTS}, is none.
	 * @return whether it is
	 */
	public boolean inTransaction() {
		Object bound = TransactionSynchronizationManager.getResource(this.dataSource);
		if (bound instanceof ResourceHolderSupport holder && holder.isSynchronizedWithTransaction()) {
			// nothing was begun that would have to be ended
			return this.probe.getTransaction(SUPPORTS).hasTransaction();
		}
		// JPA's and Hibernate's are bound in a transaction only
		return bound != null;
	}

	/**
	 * Tells whether the transaction that the caller is in may not write.
	 * @return whether it is read-only
	 */
	public boolean inReadOnlyTransaction() {
		return TransactionSynchronizationManager.isCurrentTransactionReadOnly() && inTransaction();
	}

	/**
	 * Runs work whose statements join, for a caller that is in no transaction: in a READ
	 * COMMITTED one of its own.
	 * @param <T> the type of the result
	 * @param work the work
	 * @return its result
	 */
	public <T> T alone(Supplier<T> work) {
		TransactionTemplate transaction = this.aloneTransaction;
		transaction.setIsolationLevel(readCommitted());
		return Objects.requireNonNull(transaction.execute((status) -> work.get()));
	}

	/**
	 * Returns the isolation to ask for so that a transaction on this DataSource is READ
	 * COMMITTED. Where it is so by itself that is none, as asking costs a round trip; it
	 * is looked up once.
	 * @return the isolation level, as in {@link TransactionDefinition}
	 * @throws org.springframework.dao.DataAccessException if it cannot be looked up
	 */
	public int readCommitted() {
		Boolean known = this.readsCommitted;
		if (known == null) {
			known = "read committed".equals(own(ISOLATION).query(String.class).single());
			this.readsCommitted = known;
		}
		return known ? TransactionDefinition.ISOLATION_DEFAULT : TransactionDefinition.ISOLATION_READ_COMMITTED;
	}

	/**
	 * Tells whether a transaction manager's transactions are on this DataSource.
	 * @param transactionManager the transaction manager, of JDBC, JPA or Hibernate
	 * @return whether they are
	 */
	public boolean isManagedBy(PlatformTransactionManager transactionManager) {
		BeanWrapper properties = new BeanWrapperImpl(transactionManager);
		return properties.isReadableProperty("dataSource")
				&& properties.getPropertyValue("dataSource") instanceof DataSource managed
				&& targetOf(managed) == this.dataSource;
	}

	/**
	 * Returns a transaction manager for this DataSource, for an application that has
	 * none.
	 * @return the transaction manager
	 */
	public PlatformTransactionManager newTransactionManager() {
		return new JdbcTransactionManager(this.dataSource);
	}

	/**
	 * Puts the quoted schema in the place of <code>{bus}</code>, which may stand at the
	 * beginning of a literal.
	 * @param sql the SQL
	 * @return the SQL to run
	 */
	String sql(String sql) {
		return this.withSchema.get(sql);
	}

	private String putSchema(String sql) {
		return BUS.matcher(sql)
			.replaceAll((match) -> Matcher.quoteReplacement(
					match.group().startsWith("'") ? "'" + this.quotedSchema.replace("'", "''") : this.quotedSchema));
	}

	/**
	 * Starts a statement in the caller's transaction, or alone where there is none.
	 * @param sql the SQL, with <code>{bus}</code> before the bus's names
	 * @return the statement
	 */
	JdbcClient.StatementSpec joining(String sql) {
		return this.joining.sql(sql(sql));
	}

	/**
	 * Starts a statement apart from the caller's transaction: alone, or in
	 * {@link #ownTransaction()}.
	 * @param sql the SQL, with <code>{bus}</code> before the bus's names
	 * @return the statement
	 */
	JdbcClient.StatementSpec own(String sql) {
		return this.own.sql(sql(sql));
	}

	/**
	 * Starts a statement apart from the caller's transaction, as {@link #own} does. It
	 * may hold text that users wrote, so nothing is put in the place of
	 * <code>{bus}</code>, and parameters are question marks.
	 * @param sql the SQL
	 * @return the statement
	 */
	JdbcClient.StatementSpec ownVerbatim(String sql) {
		return this.own.sql(sql);
	}

	/**
	 * Runs a statement that PostgreSQL takes in no transaction, and cancels it when it
	 * takes long. The driver sees to that: a setting would have to be made for the
	 * session, which a pooler may give to others.
	 * @param sql the SQL, with <code>{bus}</code> before the bus's names
	 * @param timeoutSeconds how long it may take
	 */
	void runAlone(String sql, int timeoutSeconds) {
		JdbcTemplate alone = new JdbcTemplate(this.apart);
		alone.setQueryTimeout(timeoutSeconds);
		alone.execute(sql(sql));
	}

	/**
	 * Returns a READ COMMITTED transaction apart from the caller's, for statements made
	 * by {@link #own}.
	 * @return the transaction
	 */
	TransactionOperations ownTransaction() {
		return this.ownTransaction;
	}

	/**
	 * Runs work in a READ COMMITTED transaction apart from the caller's, whose statements
	 * are no business of the bus's tables: nothing is put in the place of
	 * <code>{bus}</code>.
	 * @param <T> the type of the result
	 * @param work the work
	 * @return its result
	 */
	@SuppressWarnings("NullAway") // the result is null only if the work's is
	public <T> T inOwnTransaction(Function<JdbcClient, T> work) {
		return this.ownTransaction.execute((status) -> work.apply(this.own));
	}

	/**
	 * Prepares statements that run as one READ COMMITTED transaction of their own, in one
	 * round trip.
	 * @param statements the statements, separated by semicolons
	 * @return the round trip
	 */
	RoundTrip ownRoundTrip(String... statements) {
		return RoundTrip.own(this.apart, sql(String.join(";\n", statements)));
	}

	/**
	 * Prepares statements that only read and need not see the same, in one round trip: as
	 * few as can be, for what is done all the time. Under another isolation than READ
	 * COMMITTED they would be in the way of the application's transactions.
	 * @param statements the statements, separated by semicolons
	 * @return gives the round trip, once the database can be asked about its isolation
	 */
	Supplier<RoundTrip> look(String... statements) {
		RoundTrip bare = RoundTrip.look(this.apart, sql(String.join(";\n", statements)));
		RoundTrip transaction = ownRoundTrip(statements);
		return () -> (readCommitted() == TransactionDefinition.ISOLATION_DEFAULT) ? bare : transaction;
	}

	/**
	 * Prepares statements that run as one READ COMMITTED transaction of their own that
	 * may not write, in one round trip. They may hold text that users wrote, so nothing
	 * is put in the place of <code>{bus}</code>, and parameters are question marks.
	 * @param statements the statements, separated by semicolons
	 * @return the round trip
	 */
	RoundTrip ownReadOnlyRoundTrip(String... statements) {
		return RoundTrip.ownReadOnly(this.apart, String.join(";\n", statements));
	}

	/**
	 * Prepares statements that run in the caller's transaction, in one round trip.
	 * @param statements the statements, separated by semicolons
	 * @return the round trip
	 */
	RoundTrip joiningRoundTrip(String... statements) {
		return RoundTrip.joining(this.dataSource, sql(String.join(";\n", statements)));
	}

	static String quote(String name) {
		if (name.isBlank() || name.indexOf('\0') >= 0
				|| name.getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES) {
			throw new IllegalArgumentException(
					"The name of the bus's schema is \"" + name + "\", but PostgreSQL takes 1 to " + MAX_NAME_BYTES
							+ " bytes in UTF-8, not all of them white space. Set pgbus.schema.name.");
		}
		return '"' + name.replace("\"", "\"\"") + '"';
	}

	private static DataSource targetOf(DataSource dataSource) {
		DataSource target = (dataSource instanceof TransactionAwareDataSourceProxy proxy) ? proxy.getTargetDataSource()
				: null;
		return (target != null) ? target : dataSource;
	}

}
