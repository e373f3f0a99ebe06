package io.pgbus.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Publishes for a while, as fast as it goes, with several connections.
 */
final class Publishing implements Side {

	private static final Runnable NOTHING = () -> {
	};

	private final Technology technology;

	private final int connections;

	private final int perTransaction;

	private final Duration duration;

	private final AtomicLong ids = new AtomicLong(1);

	Publishing(Technology technology, int connections, int perTransaction, Duration duration) {
		this.technology = technology;
		this.connections = connections;
		this.perTransaction = perTransaction;
		this.duration = duration;
	}

	@Override
	public void warmUp() throws Exception {
		// until compilers leave both cores to what is measured
		publish(this.duration.multipliedBy(4));
	}

	@Override
	public Map<Metric, Double> round() throws Exception {
		return Map.of(Metric.PUBLISHED, publish(this.duration));
	}

	private double publish(Duration time) throws Exception {
		ExecutorService threads = Executors.newFixedThreadPool(this.connections);
		try {
			long start = System.nanoTime();
			List<Future<Long>> futures = new ArrayList<>();
			for (int i = 0; i < this.connections; i++) {
				futures.add(threads.submit(() -> publishUntil(start + time.toNanos())));
			}
			long published = 0;
			for (Future<Long> future : futures) {
				published += future.get();
			}
			return published * 1e9 / (System.nanoTime() - start);
		}
		finally {
			threads.shutdownNow();
		}
	}

	private long publishUntil(long end) throws Exception {
		long published = 0;
		while (System.nanoTime() < end) {
			long id = this.ids.getAndAdd(this.perTransaction);
			if (this.perTransaction == 1) {
				this.technology.publish(Order.of(id), NOTHING);
			}
			else {
				this.technology.publishAll(Order.range(id, this.perTransaction));
			}
			published += this.perTransaction;
		}
		return published;
	}

	@Override
	public void close() throws Exception {
		this.technology.close();
	}

}
