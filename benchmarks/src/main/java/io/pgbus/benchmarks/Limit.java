package io.pgbus.benchmarks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

import org.postgresql.PGConnection;
import tools.jackson.databind.json.JsonMapper;

/**
 * What nobody can do better on this PostgreSQL: bare JDBC that does the same to the same
 * rows, without any of the promises.
 */
final class Limit implements Technology {

	private static final int PARTITIONS = 8;

	private static final String INSERT = """
			insert into bare (stream_id, partition, size, type, key, payload)
			values (1, ?, ?, ?, ?, ?::jsonb)""";

	private static final String SELECT = """
			select id, type, key, payload, headers, published_at from pgbus.event
			where stream_id = (select id from pgbus.stream where name = ?) and partition = ? order by id""";

	private final Environment environment;

	private final JsonMapper mapper = new JsonMapper();

	private final ThreadLocal<Connection> connections = ThreadLocal.withInitial(this::open);

	private final List<Connection> opened = new ArrayList<>();

	private boolean filled;

	/**
	 * Makes a table like the bus's, with its columns and indexes.
	 * @param environment the environment
	 */
	Limit(Environment environment) {
		this.environment = environment;
		PgbusApplication.start(environment, Map.of()).close();
		environment.execute("""
				create table bare (like pgbus.event including all);
				create table progress (worker integer primary key, position bigint not null) with (fillfactor = 50);
				insert into progress select i, 0 from generate_series(0, 7) i;
				""");
	}

	private synchronized Connection open() {
		try {
			Connection connection = this.environment.connect();
			connection.setAutoCommit(false);
			this.opened.add(connection);
			return connection;
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Override
	public void publish(Order order, Runnable beforeCommit) throws SQLException {
		Connection connection = this.connections.get();
		try (PreparedStatement insert = connection.prepareStatement(INSERT)) {
			bind(insert, order);
			insert.executeUpdate();
		}
		beforeCommit.run();
		connection.commit();
	}

	@Override
	public void publishAll(List<Order> orders) throws SQLException {
		Connection connection = this.connections.get();
		try (PreparedStatement insert = connection.prepareStatement(INSERT)) {
			for (Order order : orders) {
				bind(insert, order);
				insert.addBatch();
			}
			insert.executeBatch();
		}
		connection.commit();
	}

	private void bind(PreparedStatement insert, Order order) throws SQLException {
		String payload = this.mapper.writeValueAsString(order);
		insert.setInt(1, Math.floorMod(order.customer().hashCode(), PARTITIONS));
		insert.setInt(2, payload.length());
		insert.setString(3, Order.TYPE);
		insert.setString(4, order.customer());
		insert.setString(5, payload);
	}

	@Override
	public void fill(int count) {
		if (!this.filled) {
			Pgbus.fill(this.environment, count);
			this.filled = true;
		}
	}

	/**
	 * Reads the rows, each worker those of its partitions, parses their payloads and
	 * calls the handler. Where the handler is to insert, what is done instead for each
	 * event is the insert, an update of the progress, and at the end of the transaction
	 * its commit.
	 */
	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
		ExecutorService workers = Executors.newFixedThreadPool(how.workers());
		for (int i = 0; i < how.workers(); i++) {
			int worker = i;
			workers.submit(() -> {
				try (Connection connection = open()) {
					for (int partition = worker; partition < PARTITIONS; partition += how.workers()) {
						read(connection, partition, worker, how, handler);
					}
				}
				catch (Exception ex) {
					ex.printStackTrace();
				}
			});
		}
		return workers::shutdownNow;
	}

	private void read(Connection connection, int partition, int worker, Consumption how, Consumer<Order> handler)
			throws SQLException {
		List<Order> orders = new ArrayList<>();
		try (PreparedStatement select = connection.prepareStatement(SELECT)) {
			select.setFetchSize(1000);
			select.setString(1, Order.STREAM);
			select.setInt(2, partition);
			try (ResultSet rows = select.executeQuery()) {
				while (rows.next() && !Thread.currentThread().isInterrupted()) {
					rows.getLong(1);
					rows.getString(2);
					rows.getString(3);
					Order order = this.mapper.readValue(rows.getString(4), Order.class);
					rows.getString(5);
					rows.getTimestamp(6);
					if (how.inserts()) {
						orders.add(order);
					}
					else {
						handler.accept(order);
					}
				}
			}
		}
		connection.commit();
		insert(connection, orders, worker, how.eventsPerTransaction(), handler);
	}

	private static void insert(Connection connection, List<Order> orders, int worker, int perTransaction,
			Consumer<Order> handler) throws SQLException {
		try (PreparedStatement insert = connection.prepareStatement(Consumption.INSERT);
				PreparedStatement update = connection
					.prepareStatement("update progress set position = ? where worker = ?")) {
			int open = 0;
			for (Order order : orders) {
				if (Thread.currentThread().isInterrupted()) {
					return;
				}
				insert.setLong(1, order.id());
				insert.setLong(2, order.total());
				insert.executeUpdate();
				if (++open == perTransaction) {
					update.setLong(1, order.id());
					update.setInt(2, worker);
					update.executeUpdate();
					connection.commit();
					open = 0;
				}
				handler.accept(order);
			}
			connection.commit();
		}
	}

	@Override
	public void close() throws Exception {
		for (Connection connection : this.opened) {
			connection.close();
		}
	}

	/**
	 * A loop of one update and commit, which is as little as can be done to know what was
	 * done.
	 *
	 * @param environment the environment
	 */
	record UpdateAndCommit(Environment environment) implements Technology {

		@Override
		public void publish(Order order, Runnable beforeCommit) {
			throw new UnsupportedOperationException();
		}

		@Override
		public void fill(int count) {
			this.environment.execute("""
					drop table if exists progress;
					create table progress (worker integer primary key, position bigint not null) with (fillfactor = 50);
					insert into progress values (0, %d);
					""".formatted(-count));
		}

		@Override
		public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
			ExecutorService worker = Executors.newSingleThreadExecutor();
			worker.submit(() -> {
				try (Connection connection = this.environment.connect();
						PreparedStatement update = connection
							.prepareStatement("update progress set position = ? where worker = 0")) {
					connection.setAutoCommit(false);
					for (long id = 1; !worker.isShutdown(); id++) {
						update.setLong(1, id);
						update.executeUpdate();
						if (id % how.eventsPerTransaction() == 0) {
							connection.commit();
						}
						handler.accept(Order.of(id));
					}
				}
				catch (SQLException ex) {
					ex.printStackTrace();
				}
			});
			return worker::shutdownNow;
		}

	}

	/**
	 * Raw NOTIFY in the transaction, and one connection that listens.
	 *
	 * @param environment the environment
	 * @param connections a connection for each publisher
	 */
	record Notifications(Environment environment, ThreadLocal<Connection> connections) implements Technology {

		Notifications(Environment environment) {
			this(environment, ThreadLocal.withInitial(() -> {
				try {
					Connection connection = environment.connect();
					connection.setAutoCommit(false);
					return connection;
				}
				catch (SQLException ex) {
					throw new IllegalStateException(ex);
				}
			}));
			environment.execute("create table bare (id bigint primary key)");
		}

		@Override
		public void publish(Order order, Runnable beforeCommit) throws SQLException {
			Connection connection = this.connections.get();
			try (PreparedStatement insert = connection
				.prepareStatement("with row as (insert into bare values (?)) select pg_notify('bare', ?)")) {
				insert.setLong(1, order.id());
				insert.setString(2, Long.toString(order.id()));
				insert.execute();
			}
			beforeCommit.run();
			connection.commit();
		}

		@Override
		public AutoCloseable consume(Consumption how, Consumer<Order> handler) throws SQLException {
			Connection connection = this.environment.connect();
			connection.createStatement().execute("listen bare");
			PGConnection listening = connection.unwrap(PGConnection.class);
			ExecutorService listener = Executors.newSingleThreadExecutor();
			listener.submit(() -> {
				while (!listener.isShutdown()) {
					for (var notification : listening.getNotifications(200)) {
						handler.accept(Order.of(Long.parseLong(notification.getParameter())));
					}
				}
				connection.close();
				return null;
			});
			return listener::shutdown;
		}

	}

}
