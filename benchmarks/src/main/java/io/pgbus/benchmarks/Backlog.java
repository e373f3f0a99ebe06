package io.pgbus.benchmarks;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Handles what has piled up. The time runs from the start of the listener to the end of
 * the last handler.
 */
final class Backlog implements Side {

	private static final int WARM = 20_000;

	private final Technology technology;

	private final Consumption how;

	private final int count;

	Backlog(Technology technology, Consumption how, int count) {
		this.technology = technology;
		this.how = how;
		this.count = count;
	}

	@Override
	public void warmUp() throws Exception {
		handle(Math.min(this.count, WARM));
	}

	@Override
	public Map<Metric, Double> round() throws Exception {
		Heap.reset();
		double rate = handle(this.count);
		return this.how.inserts() ? Map.of(Metric.HANDLED, rate)
				: Map.of(Metric.HANDLED, rate, Metric.HEAP, Heap.mostMegabytes());
	}

	private double handle(int until) throws Exception {
		this.technology.fill(this.count);
		AtomicLong handled = new AtomicLong();
		CountDownLatch done = new CountDownLatch(1);
		long start = System.nanoTime();
		try (AutoCloseable consumption = this.technology.consume(this.how, (order) -> {
			if (handled.incrementAndGet() == until) {
				done.countDown();
			}
		})) {
			Progress.await(done, handled::get, until);
			return until * 1e9 / (System.nanoTime() - start);
		}
	}

	@Override
	public void close() throws Exception {
		this.technology.close();
	}

}
