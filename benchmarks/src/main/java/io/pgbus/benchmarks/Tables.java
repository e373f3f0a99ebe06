package io.pgbus.benchmarks;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.pgbus.DeliveryMode;
import io.pgbus.ListenedTable;
import io.pgbus.TableOperation;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import org.postgresql.PGConnection;
import org.postgresql.PGProperty;
import org.postgresql.replication.PGReplicationStream;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.context.ConfigurableApplicationContext;

/**
 * Those whose events are rows of the table {@code orders}.
 */
abstract class Tables implements Technology {

	private static final String INSERT = "insert into orders values (?, ?, ?, ?, ?, ?::jsonb)";

	final Environment environment;

	private final JsonMapper mapper = new JsonMapper();

	private final ThreadLocal<Connection> connections = ThreadLocal.withInitial(this::open);

	private long rows;

	Tables(Environment environment) {
		this.environment = environment;
		environment.execute(Order.TABLE);
	}

	private Connection open() {
		try {
			Connection connection = this.environment.connect();
			connection.setAutoCommit(false);
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
			insert.setLong(1, order.id());
			insert.setString(2, order.customer());
			insert.setString(3, order.status());
			insert.setLong(4, order.total());
			insert.setString(5, order.note());
			insert.setString(6, this.mapper.writeValueAsString(order.items()));
			insert.executeUpdate();
		}
		beforeCommit.run();
		connection.commit();
	}

	@Override
	public void fill(int count) throws Exception {
		this.environment.fill(Order.ROWS_IN_SQL.formatted(this.rows), count);
		this.rows += count;
	}

	/**
	 * The bus, which is stopped between the rounds.
	 */
	static final class PgbusChanges extends Tables {

		PgbusChanges(Environment environment) throws Exception {
			super(environment);
			// the slot
			try (AutoCloseable listening = consume(Consumption.live(1), (order) -> {
			})) {
				environment.awaitSlot();
			}
		}

		@Override
		public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
			return listen(this.environment, "changes", how, ListenedTable.of("orders"), handler);
		}

		static AutoCloseable listen(Environment environment, String group, Consumption how, ListenedTable table,
				Consumer<Order> handler) {
			String name = environment.text("select current_database()");
			ConfigurableApplicationContext application = PgbusApplication.start(environment,
					Map.of("pgbus.capture.slot", name, "pgbus.capture.publication", name));
			application.getBean(PgListenerContainerRegistry.class)
				.register(PgListenerEndpoint.id(group)
					.tables(table)
					.delivery(DeliveryMode.AT_LEAST_ONCE)
					.concurrency(how.workers())
					.onChange(Order.class, (change) -> handler.accept(change.requireRecord())));
			return application;
		}

	}

	/**
	 * The bus's backfill.
	 */
	static final class PgbusBackfill extends Tables {

		private boolean filled;

		PgbusBackfill(Environment environment) {
			super(environment);
		}

		@Override
		public void fill(int count) throws Exception {
			if (!this.filled) {
				super.fill(count);
				this.filled = true;
			}
		}

		@Override
		public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
			return PgbusChanges.listen(this.environment, "group-" + UUID.randomUUID(), how,
					ListenedTable.of("orders").operations(TableOperation.READ).backfill("select * from orders"),
					handler);
		}

	}

	/**
	 * The replication stream as the driver gives it: of inserts the id is read, nothing
	 * else is decoded.
	 */
	static final class BareStream extends Tables {

		private final String name;

		BareStream(Environment environment) throws SQLException {
			super(environment);
			this.name = environment.text("select current_database()");
			environment.execute("create publication " + this.name + " for table orders");
			environment.execute("select pg_create_logical_replication_slot('" + this.name + "', 'pgoutput')");
		}

		@Override
		public AutoCloseable consume(Consumption how, Consumer<Order> handler) throws SQLException {
			Properties properties = new Properties();
			PGProperty.REPLICATION.set(properties, "database");
			PGProperty.ASSUME_MIN_SERVER_VERSION.set(properties, "14");
			PGProperty.PREFER_QUERY_MODE.set(properties, "simple");
			Connection connection = DriverManager.getConnection(this.environment.jdbcUrl(), properties);
			PGReplicationStream stream = connection.unwrap(PGConnection.class)
				.getReplicationAPI()
				.replicationStream()
				.logical()
				.withSlotName(this.name)
				.withSlotOption("proto_version", 1)
				.withSlotOption("publication_names", this.name)
				.start();
			ExecutorService reader = Executors.newSingleThreadExecutor();
			reader.submit(() -> {
				while (!reader.isShutdown()) {
					ByteBuffer message = stream.readPending();
					if (message == null) {
						Thread.sleep(1);
					}
					else if (message.get(message.position()) == 'I') {
						handler.accept(Order.of(id(message)));
					}
					stream.setFlushedLSN(stream.getLastReceiveLSN());
				}
				stream.forceUpdateStatus();
				stream.close();
				connection.close();
				return null;
			});
			return () -> {
				reader.shutdown();
				reader.awaitTermination(10, TimeUnit.SECONDS);
			};
		}

		/**
		 * Behind I, relation, N, number of columns and t: the first column's length and
		 * text.
		 */
		private static long id(ByteBuffer message) {
			int at = message.position() + 9;
			byte[] text = new byte[message.getInt(at)];
			message.get(at + Integer.BYTES, text);
			return Long.parseLong(new String(text, StandardCharsets.US_ASCII));
		}

	}

	/**
	 * A select of all rows as JSON, parsed.
	 */
	static final class BareSelect extends Tables {

		private boolean filled;

		BareSelect(Environment environment) {
			super(environment);
		}

		@Override
		public void fill(int count) throws Exception {
			if (!this.filled) {
				super.fill(count);
				this.filled = true;
			}
		}

		@Override
		public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
			JsonMapper mapper = new JsonMapper();
			ExecutorService reader = Executors.newSingleThreadExecutor();
			reader.submit(() -> {
				try (Connection connection = this.environment.connect()) {
					connection.setAutoCommit(false);
					try (PreparedStatement select = connection
						.prepareStatement("select to_jsonb(o) from orders o order by id")) {
						select.setFetchSize(1000);
						try (ResultSet rows = select.executeQuery()) {
							while (rows.next()) {
								handler.accept(mapper.readValue(rows.getString(1), Order.class));
							}
						}
					}
				}
				return null;
			});
			return reader::shutdown;
		}

	}

}
