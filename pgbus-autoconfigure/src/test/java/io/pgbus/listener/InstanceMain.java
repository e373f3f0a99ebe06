package io.pgbus.listener;

import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.core.EventConverter;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.ConsumerStore;
import io.pgbus.store.GroupStore;
import io.pgbus.store.NotificationConnectionFactory;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.NotificationReceiver;
import io.pgbus.store.StreamStore;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.util.unit.DataSize;

/**
 * An application in a process of its own, which may be killed or frozen: three groups
 * listen to one stream, wired as the auto-configuration does it. What they do is up to
 * the SQL function <code>on_event</code> of the test. Started by {@link InstanceProcess};
 * ends with its standard input.
 */
final class InstanceMain {

	static final String STREAM = "chaos";

	/** Exactly once, event by event. */
	static final String ONCE = "once";

	/** Exactly once, in lists. */
	static final String LISTS = "lists";

	/** At least once. */
	static final String LEAST = "least";

	private InstanceMain() {
	}

	public static void main(String[] args) throws IOException {
		Map<String, String> options = parse(args);
		DefaultPgListenerContainerRegistry registry;
		try {
			Application application = application(options);
			registry = application.registry();
			listen(registry, JdbcClient.create(application.pool()));
		}
		catch (RuntimeException ex) {
			// as Spring Boot does it, whatever threads there are already
			ex.printStackTrace();
			System.exit(1);
			return;
		}
		// until the test closes it, or is gone
		System.in.transferTo(OutputStream.nullOutputStream());
		registry.stop();
		System.exit(0);
	}

	static Map<String, String> parse(String[] args) {
		Map<String, String> options = new LinkedHashMap<>();
		for (String arg : args) {
			options.put(arg.substring(0, arg.indexOf('=')), arg.substring(arg.indexOf('=') + 1));
		}
		return options;
	}

	static Application application(Map<String, String> options) {
		HikariDataSource pool = pool(options);
		BusDatabase database = new BusDatabase(pool, "pgbus");
		ListenerDefaults defaults = new ListenerDefaults(DeliveryMode.EXACTLY_ONCE, StartPosition.earliest(), 1,
				Integer.parseInt(options.get("batch-size")), DataSize.ofMegabytes(8),
				Integer.parseInt(options.get("events-per-transaction")), Duration.ofMillis(200), new RetryPolicy(10,
						Duration.ofMillis(20), 2, Duration.ofMillis(200), 0.5, Set.of(), RetryPolicy.OnDead.CONTINUE));
		AtomicReference<NotificationListener> notifications = new AtomicReference<>();
		BusConsumer consumer = new BusConsumer(new ConsumerStore(database),
				InstanceProcess.consumerName(ProcessHandle.current().pid()),
				Duration.ofMillis(Long.parseLong(options.get("timeout"))), defaults.pollInterval(),
				(id) -> notifications.get().start(id));
		notifications.set(new NotificationListener(database,
				NotificationConnectionFactory.of(options.get("url"), options.get("username"), options.get("password")),
				new Receiver(consumer), "pgbus-listen"));
		DefaultPgListenerContainerRegistry registry = new DefaultPgListenerContainerRegistry(
				new ListenerRuntime(database, new GroupStore(database, new StreamStore(database, Map.of())),
						new EventConverter(JsonMapper.builder().build()), consumer, new JdbcTransactionManager(pool),
						null, List.of(), false, defaults));
		return new Application(registry, pool);
	}

	private static void listen(DefaultPgListenerContainerRegistry registry, JdbcClient jdbc) {
		registry.register(PgListenerEndpoint.id(ONCE)
			.streams(STREAM)
			.concurrency(2)
			.onEvent(Integer.class, (event) -> handle(jdbc, ONCE, event)));
		registry.register(PgListenerEndpoint.id(LISTS)
			.streams(STREAM)
			.onEvents(Integer.class, (events) -> events.forEach((event) -> handle(jdbc, LISTS, event))));
		registry.register(PgListenerEndpoint.id(LEAST)
			.streams(STREAM)
			.delivery(DeliveryMode.AT_LEAST_ONCE)
			.onEvent(Integer.class, (event) -> handle(jdbc, LEAST, event)));
		registry.start();
	}

	private static HikariDataSource pool(Map<String, String> options) {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl(options.get("url"));
		config.setUsername(options.get("username"));
		config.setPassword(options.get("password"));
		config.setMaximumPoolSize(8);
		config.setMinimumIdle(0);
		return new HikariDataSource(config);
	}

	private static void handle(JdbcClient jdbc, String group, Event<Integer> event) {
		jdbc.sql("select on_event(?, ?, ?, ?, ?, ?)::text")
			.params(group, event.id(), event.key(), event.payload(), event.attempt(), ProcessHandle.current().pid())
			.query()
			.listOfRows();
	}

	/**
	 * What a main class needs.
	 *
	 * @param registry where its listeners go
	 * @param pool its connections
	 */
	record Application(DefaultPgListenerContainerRegistry registry, HikariDataSource pool) {

	}

	/**
	 * Passes on what was heard.
	 */
	private record Receiver(BusConsumer consumer) implements NotificationReceiver {

		@Override
		public void published(Set<Integer> streamIds) {
			streamIds.forEach(this.consumer::published);
		}

		@Override
		public void publishedToAny() {
			this.consumer.publishedSomewhere();
		}

	}

}
