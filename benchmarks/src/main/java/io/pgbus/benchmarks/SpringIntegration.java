package io.pgbus.benchmarks;

import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

import com.zaxxer.hikari.HikariDataSource;
import org.postgresql.jdbc.PgConnection;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.io.ClassPathResource;
import org.springframework.integration.jdbc.channel.PostgresChannelMessageTableSubscriber;
import org.springframework.integration.jdbc.channel.PostgresSubscribableChannel;
import org.springframework.integration.jdbc.store.JdbcChannelMessageStore;
import org.springframework.integration.jdbc.store.channel.PostgresChannelMessageStoreQueryProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.messaging.MessageHandler;
import org.springframework.messaging.support.MessageBuilder;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Spring Integration's subscribable channel on PostgreSQL, with its trigger that
 * notifies. A message is taken, handled and deleted in one transaction.
 */
final class SpringIntegration implements Technology {

	/** Left as a comment in Spring Integration's script, for those who want it. */
	private static final String TRIGGER = """
			create function int_channel_message_notify_fct() returns trigger as $body$
				begin
					perform pg_notify('int_channel_message_notify', new.region || ' ' || new.group_key);
					return new;
				end;
			$body$ language plpgsql;
			create trigger int_channel_message_notify_trg after insert on int_channel_message
				for each row execute procedure int_channel_message_notify_fct();
			""";

	private final HikariDataSource dataSource;

	private final JsonMapper mapper = new JsonMapper();

	private final JdbcTemplate jdbc;

	private final TransactionTemplate transactions;

	private final PostgresChannelMessageTableSubscriber subscriber;

	private final ExecutorService workers = Executors.newFixedThreadPool(8);

	private final PostgresSubscribableChannel channel;

	SpringIntegration(Environment environment) {
		this.dataSource = environment.dataSource();
		new ResourceDatabasePopulator(
				new ClassPathResource("org/springframework/integration/jdbc/schema-postgresql.sql"))
			.execute(this.dataSource);
		environment.execute(TRIGGER);
		this.jdbc = new JdbcTemplate(this.dataSource);
		JdbcTransactionManager transactionManager = new JdbcTransactionManager(this.dataSource);
		this.transactions = new TransactionTemplate(transactionManager);
		GenericApplicationContext context = new GenericApplicationContext();
		context.refresh();
		JdbcChannelMessageStore store = new JdbcChannelMessageStore(this.dataSource);
		store.setChannelMessageStoreQueryProvider(new PostgresChannelMessageStoreQueryProvider());
		store.afterPropertiesSet();
		this.subscriber = new PostgresChannelMessageTableSubscriber(
				() -> environment.connect().unwrap(PgConnection.class));
		this.channel = new PostgresSubscribableChannel(store, "orders", this.subscriber);
		this.channel.setBeanFactory(context);
		this.channel.setTransactionManager(transactionManager);
		this.channel.setDispatcherExecutor(this.workers);
		this.channel.afterPropertiesSet();
	}

	@Override
	public void publish(Order order, Runnable beforeCommit) {
		this.transactions.executeWithoutResult((status) -> {
			send(order);
			beforeCommit.run();
		});
	}

	@Override
	public void publishAll(List<Order> orders) {
		this.transactions.executeWithoutResult((status) -> orders.forEach(this::send));
	}

	private void send(Order order) {
		this.channel.send(MessageBuilder.withPayload(this.mapper.writeValueAsString(order)).build());
	}

	@Override
	public void fill(int count) {
		this.jdbc.update("truncate int_channel_message");
		for (int from = 1; from <= count; from += 1000) {
			publishAll(Order.range(from, Math.min(1000, count - from + 1)));
		}
	}

	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
		MessageHandler subscribed = (message) -> {
			Order order = this.mapper.readValue((String) message.getPayload(), Order.class);
			if (how.inserts()) {
				this.jdbc.update(Consumption.INSERT, order.id(), order.total());
			}
			handler.accept(order);
		};
		this.subscriber.start();
		this.channel.subscribe(subscribed);
		for (int worker = 0; worker < how.workers(); worker++) {
			this.channel.notifyUpdate();
		}
		return () -> {
			this.channel.unsubscribe(subscribed);
			this.subscriber.stop();
		};
	}

	@Override
	public void close() {
		this.workers.shutdownNow();
		this.dataSource.close();
	}

}
