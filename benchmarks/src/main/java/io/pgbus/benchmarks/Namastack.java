package io.pgbus.benchmarks;

import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;

import io.namastack.outbox.Outbox;
import io.namastack.outbox.OutboxJacksonAutoConfiguration;
import io.namastack.outbox.config.JdbcOutboxAutoConfiguration;
import io.namastack.outbox.config.JdbcOutboxSchemaAutoConfiguration;
import io.namastack.outbox.config.OutboxCoreInfrastructureAutoConfiguration;
import io.namastack.outbox.config.OutboxCoreProcessingAutoConfiguration;
import io.namastack.outbox.config.OutboxCoreSchedulingAutoConfiguration;
import io.namastack.outbox.config.OutboxCoreThreadingAutoConfiguration;
import io.namastack.outbox.handler.OutboxRecordMetadata;
import io.namastack.outbox.handler.OutboxTypedHandler;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.task.TaskExecutionAutoConfiguration;
import org.springframework.boot.autoconfigure.task.TaskSchedulingAutoConfiguration;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * namastack-outbox, with eight threads, a thousand keys a poll and the bus's own poll
 * interval; by default it polls ten every two seconds.
 */
final class Namastack implements Technology {

	private final ConfigurableApplicationContext application;

	private final TransactionTemplate transactions;

	private final Outbox outbox;

	private final Handler handler;

	Namastack(Environment environment) {
		this.application = PgbusApplication.start(environment,
				Map.of("namastack.outbox.polling.batch-size", 1000, "namastack.outbox.polling.fixed.interval", "1s",
						"namastack.outbox.processing.executor-core-pool-size", 8,
						"namastack.outbox.processing.delete-completed-records", true),
				Application.class);
		this.transactions = this.application.getBean(TransactionTemplate.class);
		this.outbox = this.application.getBean(Outbox.class);
		this.handler = this.application.getBean(Handler.class);
	}

	@Override
	public void publish(Order order, Runnable beforeCommit) {
		this.transactions.executeWithoutResult((status) -> {
			this.outbox.schedule(order, order.customer());
			beforeCommit.run();
		});
	}

	@Override
	public void publishAll(List<Order> orders) {
		this.transactions
			.executeWithoutResult((status) -> orders.forEach((order) -> this.outbox.schedule(order, order.customer())));
	}

	/**
	 * The handler holds what comes until the listener is there.
	 */
	@Override
	public void fill(int count) {
		for (int from = 1; from <= count; from += 1000) {
			publishAll(Order.range(from, Math.min(1000, count - from + 1)));
		}
	}

	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
		this.handler.delegate = handler;
		this.handler.gate.release(1000);
		return () -> {
			this.handler.gate.acquire(1000);
			this.handler.delegate = null;
		};
	}

	@Override
	public void close() {
		this.handler.gate.release(1000);
		this.application.close();
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ DataSourceAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class,
			JdbcTemplateAutoConfiguration.class, JdbcClientAutoConfiguration.class, TransactionAutoConfiguration.class,
			JacksonAutoConfiguration.class, TaskExecutionAutoConfiguration.class, TaskSchedulingAutoConfiguration.class,
			OutboxJacksonAutoConfiguration.class, JdbcOutboxAutoConfiguration.class,
			JdbcOutboxSchemaAutoConfiguration.class, OutboxCoreInfrastructureAutoConfiguration.class,
			OutboxCoreThreadingAutoConfiguration.class, OutboxCoreProcessingAutoConfiguration.class,
			OutboxCoreSchedulingAutoConfiguration.class })
	static class Application {

		@Bean
		Handler handler() {
			return new Handler();
		}

	}

	static class Handler implements OutboxTypedHandler<Order> {

		private final Semaphore gate = new Semaphore(0);

		private volatile @Nullable Consumer<Order> delegate;

		@Override
		public void handle(Order order, OutboxRecordMetadata metadata) {
			this.gate.acquireUninterruptibly();
			this.gate.release();
			Consumer<Order> current = this.delegate;
			if (current != null) {
				current.accept(order);
			}
		}

	}

}
