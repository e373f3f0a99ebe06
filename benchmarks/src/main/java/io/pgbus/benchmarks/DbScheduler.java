package io.pgbus.benchmarks;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.TaskInstance;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * db-scheduler with a task for each event, lock-and-fetch as it advises for throughput on
 * PostgreSQL, the bus's own poll interval, and a check right after each commit.
 */
final class DbScheduler implements Technology {

	private static final String TABLE = """
			create table scheduled_tasks (
				task_name text not null, task_instance text not null, task_data bytea,
				execution_time timestamp with time zone not null, picked boolean not null, picked_by text,
				last_success timestamp with time zone, last_failure timestamp with time zone,
				consecutive_failures int, last_heartbeat timestamp with time zone, version bigint not null,
				priority smallint, primary key (task_name, task_instance));
			create index execution_time_idx on scheduled_tasks (execution_time);
			create index last_heartbeat_idx on scheduled_tasks (last_heartbeat);
			""";

	private final Environment environment;

	private final HikariDataSource dataSource;

	private final JsonMapper mapper = new JsonMapper();

	private final TransactionTemplate transactions;

	private final SchedulerClient client;

	private final OneTimeTask<String> task;

	private volatile Consumer<Order> handler = (order) -> {
	};

	private volatile @Nullable Scheduler scheduler;

	DbScheduler(Environment environment) {
		this.environment = environment;
		environment.execute(TABLE);
		this.dataSource = environment.dataSource();
		this.transactions = new TransactionTemplate(new JdbcTransactionManager(this.dataSource));
		this.task = Tasks.oneTime("order", String.class)
			.execute(
					(instance, context) -> this.handler.accept(this.mapper.readValue(instance.getData(), Order.class)));
		this.client = SchedulerClient.Builder.create(new TransactionAwareDataSourceProxy(this.dataSource), this.task)
			.build();
	}

	@Override
	public void publish(Order order, Runnable beforeCommit) {
		this.transactions.executeWithoutResult((status) -> {
			this.client.schedule(instance(order), Instant.now());
			beforeCommit.run();
		});
		Scheduler running = this.scheduler;
		if (running != null) {
			running.triggerCheckForDueExecutions();
		}
	}

	@Override
	public void publishAll(List<Order> orders) {
		List<TaskInstance<?>> instances = orders.stream().<TaskInstance<?>>map(this::instance).toList();
		this.transactions.executeWithoutResult((status) -> this.client.scheduleBatch(instances, Instant.now()));
	}

	private TaskInstance<String> instance(Order order) {
		return this.task.instance(UUID.randomUUID().toString(), this.mapper.writeValueAsString(order));
	}

	@Override
	public void fill(int count) {
		this.environment.execute("truncate scheduled_tasks");
		for (int from = 1; from <= count; from += 1000) {
			publishAll(Order.range(from, Math.min(1000, count - from + 1)));
		}
	}

	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) throws InterruptedException {
		this.handler = handler;
		Scheduler started = Scheduler.create(this.dataSource, this.task)
			.threads(how.workers())
			.pollingInterval(Duration.ofSeconds(1))
			.pollUsingLockAndFetch(0.5, 4.0)
			.shutdownMaxWait(Duration.ofSeconds(1))
			.build();
		started.start();
		this.scheduler = started;
		return () -> {
			this.scheduler = null;
			started.stop();
		};
	}

	@Override
	public void close() {
		this.dataSource.close();
	}

}
