package io.pgbus.benchmarks;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Handles rows that were written, or are there, before anybody reads. The time runs from
 * the first handler to the last: what it takes to start differs, and does not matter
 * here.
 */
final class Rows implements Side {

	private final Technology technology;

	private final int count;

	private final int warm;

	private final int workers;

	private final AtomicLong first = new AtomicLong();

	Rows(Technology technology, int count, int warm, int workers) {
		this.technology = technology;
		this.count = count;
		this.warm = warm;
		this.workers = workers;
	}

	@Override
	public void warmUp() throws Exception {
		handle(this.warm);
	}

	@Override
	public Map<Metric, Double> round() throws Exception {
		Heap.reset();
		double rate = handle(this.count);
		return Map.of(Metric.HANDLED, rate, Metric.HEAP, Heap.mostMegabytes());
	}

	private double handle(int rows) throws Exception {
		this.technology.fill(rows);
		AtomicLong handled = new AtomicLong();
		CountDownLatch done = new CountDownLatch(1);
		this.first.set(0);
		try (AutoCloseable consumption = this.technology.consume(Consumption.ofBacklog(this.workers), (order) -> {
			long now = handled.incrementAndGet();
			if (now == 1) {
				this.first.set(System.nanoTime());
			}
			if (now == rows) {
				done.countDown();
			}
		})) {
			Progress.await(done, handled::get, rows);
			return (rows - 1) * 1e9 / (System.nanoTime() - this.first.get());
		}
	}

	@Override
	public void close() throws Exception {
		this.technology.close();
	}

}
