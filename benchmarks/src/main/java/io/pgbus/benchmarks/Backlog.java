package io.pgbus.benchmarks;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Handles what has piled up. The time runs from the start of the listener to the end of
 * the last handler.
 */
final class Backlog implements Side {

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
		handle();
	}

	@Override
	public Map<Metric, Double> round() throws Exception {
		Heap.reset();
		double rate = handle();
		return this.how.inserts() ? Map.of(Metric.HANDLED, rate)
				: Map.of(Metric.HANDLED, rate, Metric.HEAP, Heap.mostMegabytes());
	}

	private double handle() throws Exception {
		this.technology.fill(this.count);
		AtomicLong handled = new AtomicLong();
		CountDownLatch done = new CountDownLatch(1);
		long start = System.nanoTime();
		try (AutoCloseable consumption = this.technology.consume(this.how, (order) -> {
			if (handled.incrementAndGet() == this.count) {
				done.countDown();
			}
		})) {
			Progress.await(done, handled::get, this.count);
			return this.count * 1e9 / (System.nanoTime() - start);
		}
	}

	@Override
	public void close() throws Exception {
		this.technology.close();
	}

}
