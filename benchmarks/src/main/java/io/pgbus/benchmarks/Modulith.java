package io.pgbus.benchmarks;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.modulith.events.ApplicationModuleListener;
import org.springframework.modulith.events.IncompleteEventPublications;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Spring Modulith's registry of event publications in JDBC, with an
 * {@code @ApplicationModuleListener}, which Boot's executor of eight threads calls after
 * the commit. A backlog is what failed, and is then resubmitted.
 */
final class Modulith implements Technology {

	private final Environment environment;

	private final ConfigurableApplicationContext application;

	private final TransactionTemplate transactions;

	Modulith(Environment environment) {
		this.environment = environment;
		this.application = PgbusApplication.start(environment,
				Map.of("spring.modulith.events.jdbc.schema-initialization.enabled", true), ModulithApplication.class);
		this.transactions = this.application.getBean(TransactionTemplate.class);
	}

	@Override
	public void publish(Order order, Runnable beforeCommit) {
		this.transactions.executeWithoutResult((status) -> {
			this.application.publishEvent(order);
			beforeCommit.run();
		});
	}

	@Override
	public void publishAll(List<Order> orders) {
		this.transactions.executeWithoutResult((status) -> orders.forEach(this.application::publishEvent));
	}

	@Override
	public void fill(int count) throws InterruptedException {
		State listener = this.application.getBean(State.class);
		this.environment.execute("truncate event_publication");
		CountDownLatch failed = new CountDownLatch(count);
		listener.failed = failed;
		for (int from = 1; from <= count; from += 1000) {
			publishAll(Order.range(from, Math.min(1000, count - from + 1)));
		}
		Progress.await(failed, () -> count - failed.getCount(), count);
		listener.failed = null;
	}

	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
		State listener = this.application.getBean(State.class);
		listener.handler = handler;
		if (how.backlog()) {
			this.application.getBean(IncompleteEventPublications.class)
				.resubmitIncompletePublications((publication) -> true);
		}
		return () -> listener.handler = null;
	}

	@Override
	public void close() {
		this.application.close();
	}

	/**
	 * What the listener does; apart from it, as the bean is a proxy.
	 */
	static final class State {

		private volatile @Nullable Consumer<Order> handler;

		private volatile @Nullable CountDownLatch failed;

	}

	static class Listener {

		private final State state;

		Listener(State state) {
			this.state = state;
		}

		@ApplicationModuleListener
		void on(Order order) {
			CountDownLatch toFail = this.state.failed;
			if (toFail != null) {
				toFail.countDown();
				throw new IllegalStateException("This is to stay in the backlog");
			}
			Consumer<Order> current = this.state.handler;
			if (current != null) {
				current.accept(order);
			}
		}

	}

}
