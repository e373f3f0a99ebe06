package io.pgbus.benchmarks;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;

import io.pgbus.DeliveryMode;
import io.pgbus.EventPublisher;
import io.pgbus.OutgoingEvent;
import io.pgbus.StartPosition;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import org.jspecify.annotations.Nullable;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * The bus as an application has it. Publishes with one instance, and handles with the
 * same or another one.
 */
final class Pgbus implements Technology {

	private static final String FILL = """
			insert into pgbus.event (stream_id, partition, size, type, key, payload)
			select s.id, pgbus.partition_of(o.key, s.partitions), octet_length(o.payload::text), '%s', o.key, o.payload
			from (select i, %s as key, %s as payload from numbers) o
			join pgbus.stream s on s.name = '%s'
			order by o.i
			""".formatted(Order.TYPE, Order.KEY_IN_SQL, Order.JSON_IN_SQL, Order.STREAM);

	private final Environment environment;

	private final ConfigurableApplicationContext publishing;

	private final ConfigurableApplicationContext handling;

	private final TransactionTemplate transactions;

	private final EventPublisher events;

	private long filled;

	Pgbus(Environment environment, boolean otherInstance, Map<String, Object> properties) {
		this.environment = environment;
		this.publishing = PgbusApplication.start(environment, properties);
		this.handling = otherInstance ? PgbusApplication.start(environment, properties) : this.publishing;
		this.transactions = this.publishing.getBean(TransactionTemplate.class);
		this.events = this.publishing.getBean(EventPublisher.class);
	}

	@Override
	public void publish(Order order, Runnable beforeCommit) {
		this.transactions.executeWithoutResult((status) -> {
			this.events.publish(event(order));
			beforeCommit.run();
		});
	}

	@Override
	public void publishAll(List<Order> orders) {
		this.transactions
			.executeWithoutResult((status) -> this.events.publishAll(orders.stream().map(Pgbus::event).toList()));
	}

	private static OutgoingEvent event(Order order) {
		return OutgoingEvent.to(Order.STREAM).key(order.customer()).type(Order.TYPE).payload(order);
	}

	/**
	 * Once: each group finds the same events.
	 */
	@Override
	public void fill(int count) {
		if (this.filled == 0) {
			fill(this.environment, count);
			this.filled = count;
		}
	}

	static void fill(Environment environment, int count) {
		environment.fill(FILL, count);
	}

	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
		return listen(this.handling, "group-" + UUID.randomUUID(), how, handler);
	}

	static AutoCloseable listen(ConfigurableApplicationContext application, String group, Consumption how,
			@Nullable Consumer<Order> handler) {
		PgListenerContainerRegistry registry = application.getBean(PgListenerContainerRegistry.class);
		JdbcTemplate jdbc = application.getBean(JdbcTemplate.class);
		registry.register(PgListenerEndpoint.id(group)
			.streams(Order.STREAM)
			.start(how.backlog() ? StartPosition.earliest() : StartPosition.latest())
			.delivery(how.inserts() ? DeliveryMode.EXACTLY_ONCE : DeliveryMode.AT_LEAST_ONCE)
			.concurrency(how.workers())
			.onEvent(Order.class, (event) -> {
				Order order = event.payload();
				if (how.inserts()) {
					jdbc.update(Consumption.INSERT, order.id(), order.total());
				}
				if (handler != null) {
					handler.accept(order);
				}
			}));
		return () -> registry.unregister(group);
	}

	@Override
	public void close() {
		this.handling.close();
		this.publishing.close();
	}

}
