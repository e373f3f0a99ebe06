package io.pgbus.benchmarks;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

import com.gruelbox.transactionoutbox.Dialect;
import com.gruelbox.transactionoutbox.Instantiator;
import com.gruelbox.transactionoutbox.Persistor;
import com.gruelbox.transactionoutbox.Submitter;
import com.gruelbox.transactionoutbox.ThreadLocalContextTransactionManager;
import com.gruelbox.transactionoutbox.TransactionManager;
import com.gruelbox.transactionoutbox.TransactionOutbox;
import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * gruelbox transaction-outbox: a call of a method for each event, handed to a pool of
 * eight threads after the commit, or by a flush where nobody took it.
 */
final class GruelboxOutbox implements Technology {

	private final Environment environment;

	private final HikariDataSource dataSource;

	private final JsonMapper mapper = new JsonMapper();

	private final ThreadLocalContextTransactionManager transactions;

	private final TransactionOutbox outbox;

	private final ExecutorService workers = Executors.newFixedThreadPool(8);

	private volatile @Nullable Consumer<Order> handler;

	private volatile boolean inserts;

	GruelboxOutbox(Environment environment) {
		this.environment = environment;
		this.dataSource = environment.dataSource();
		this.transactions = TransactionManager.fromDataSource(this.dataSource);
		Submitter submitter = Submitter.withExecutor(this.workers);
		this.outbox = TransactionOutbox.builder()
			.transactionManager(this.transactions)
			.persistor(Persistor.forDialect(Dialect.POSTGRESQL_9))
			.instantiator(Instantiator.using((type) -> new Handler(this)))
			.submitter((entry, processor) -> {
				// without a listener, what is published stays where it is
				if (this.handler != null) {
					submitter.submit(entry, processor);
				}
			})
			.attemptFrequency(Duration.ofMinutes(2))
			.build();
	}

	@Override
	public void publish(Order order, Runnable beforeCommit) {
		this.transactions.inTransaction(() -> {
			schedule(order);
			beforeCommit.run();
		});
	}

	@Override
	public void publishAll(List<Order> orders) {
		this.transactions.inTransaction(() -> orders.forEach(this::schedule));
	}

	private void schedule(Order order) {
		this.outbox.schedule(Handler.class).handle(this.mapper.writeValueAsString(order));
	}

	@Override
	public void fill(int count) {
		this.environment.execute("truncate txno_outbox");
		for (int from = 1; from <= count; from += 1000) {
			publishAll(Order.range(from, Math.min(1000, count - from + 1)));
		}
		this.environment.execute("update txno_outbox set nextattempttime = now() - interval '1 day'");
	}

	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
		this.handler = handler;
		this.inserts = how.inserts();
		ExecutorService flusher = Executors.newSingleThreadExecutor();
		flusher.submit(() -> {
			while (!flusher.isShutdown()) {
				if (!this.outbox.flush()) {
					Thread.sleep(1000);
				}
			}
			return null;
		});
		return () -> {
			this.handler = null;
			flusher.shutdownNow();
		};
	}

	private void insert(Order order) {
		try {
			this.transactions.<Integer, SQLException>requireTransactionReturns((transaction) -> {
				try (PreparedStatement insert = transaction.connection().prepareStatement(Consumption.INSERT)) {
					insert.setLong(1, order.id());
					insert.setLong(2, order.total());
					return insert.executeUpdate();
				}
			});
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Override
	public void close() {
		this.workers.shutdownNow();
		this.dataSource.close();
	}

	/**
	 * What is called.
	 */
	static class Handler {

		private final @Nullable GruelboxOutbox owner;

		Handler() {
			this(null);
		}

		Handler(@Nullable GruelboxOutbox owner) {
			this.owner = owner;
		}

		void handle(String json) {
			GruelboxOutbox outbox = this.owner;
			if (outbox != null && outbox.handler != null) {
				Order order = outbox.mapper.readValue(json, Order.class);
				if (outbox.inserts) {
					outbox.insert(order);
				}
				outbox.handler.accept(order);
			}
		}

	}

}
