package io.pgbus.benchmarks;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

import org.springframework.context.ConfigurableApplicationContext;

import io.pgbus.EventPublisher;
import io.pgbus.OutgoingEvent;

/**
 * Publishes, a hundred events by a transaction, while several groups listen.
 */
final class FanOut implements Side {

	private static final int PER_TRANSACTION = 100;

	private final Environment environment;

	private final ConfigurableApplicationContext application;

	private final int groups;

	private final int count;

	private final AtomicLong handled = new AtomicLong();

	private volatile CountDownLatch done = new CountDownLatch(1);

	private volatile long goal;

	FanOut(Environment environment, int groups, int count) {
		this.environment = environment;
		this.application = PgbusApplication.start(environment, Map.of());
		this.groups = groups;
		this.count = count;
		for (int group = 0; group < groups; group++) {
			Pgbus.listen(this.application, "group-" + group, Consumption.live(1), (order) -> {
				if (this.handled.incrementAndGet() == this.goal) {
					this.done.countDown();
				}
			});
		}
	}

	@Override
	public void warmUp() throws Exception {
		round();
	}

	@Override
	public Map<Metric, Double> round() throws Exception {
		EventPublisher events = this.application.getBean(EventPublisher.class);
		this.environment.execute("checkpoint");
		this.handled.set(0);
		this.done = new CountDownLatch(1);
		this.goal = (long) this.count * this.groups;
		long walBefore = this.environment.number("select pg_current_wal_lsn() - '0/0'");
		long start = System.nanoTime();
		for (int from = 0; from < this.count; from += PER_TRANSACTION) {
			events.publishAll(Order.range(from + 1, Math.min(PER_TRANSACTION, this.count - from))
				.stream()
				.map((order) -> OutgoingEvent.to(Order.STREAM).key(order.customer()).type(Order.TYPE).payload(order))
				.toList());
		}
		Progress.await(this.done, this.handled::get, this.goal);
		double seconds = (System.nanoTime() - start) / 1e9;
		long wal = this.environment.number("select pg_current_wal_lsn() - '0/0'") - walBefore;
		return Map.of(Metric.HANDLED, this.goal / seconds, Metric.WAL, (double) wal / this.count);
	}

	@Override
	public void close() {
		this.application.close();
	}

}
