package io.pgbus.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

import org.springframework.context.ConfigurableApplicationContext;

/**
 * Several instances handle a backlog of 16 partitions with 16 workers in all, and it is
 * looked whether the events of each key come in order.
 */
final class KeyOrder implements Side {

	private static final int PARTITIONS = 16;

	private final Environment environment;

	private final List<ConfigurableApplicationContext> instances;

	private final int count;

	KeyOrder(Environment environment, int instances, int count) {
		this.environment = environment;
		this.count = count;
		this.instances = IntStream.range(0, instances)
			.mapToObj((instance) -> PgbusApplication.start(environment,
					Map.of("pgbus.streams." + Order.STREAM + ".partitions", PARTITIONS)))
			.toList();
	}

	@Override
	public void warmUp() throws Exception {
		Pgbus.fill(this.environment, this.count);
		round();
	}

	@Override
	public Map<Metric, Double> round() throws Exception {
		String group = "group-" + UUID.randomUUID();
		Map<String, Long> last = new ConcurrentHashMap<>();
		AtomicLong handled = new AtomicLong();
		AtomicLong outOfOrder = new AtomicLong();
		CountDownLatch done = new CountDownLatch(1);
		List<AutoCloseable> listeners = new ArrayList<>();
		long start = System.nanoTime();
		for (ConfigurableApplicationContext instance : this.instances) {
			Consumption how = Consumption.ofBacklog(PARTITIONS / this.instances.size());
			listeners.add(Pgbus.listen(instance, group, how, (order) -> {
				Long before = last.put(order.customer(), order.id());
				if (before != null && before >= order.id()) {
					outOfOrder.incrementAndGet();
				}
				if (handled.incrementAndGet() == this.count) {
					done.countDown();
				}
			}));
		}
		Progress.await(done, handled::get, this.count);
		double rate = this.count * 1e9 / (System.nanoTime() - start);
		for (AutoCloseable listener : listeners) {
			listener.close();
		}
		if (outOfOrder.get() > 0) {
			throw new IllegalStateException(outOfOrder + " events came out of order");
		}
		return Map.of(Metric.HANDLED, rate);
	}

	@Override
	public void close() {
		this.instances.forEach(ConfigurableApplicationContext::close);
	}

}
