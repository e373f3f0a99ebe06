package io.pgbus.benchmarks;

import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

/**
 * Publishes at a steady rate, and measures the time from right before the commit (or the
 * sending, where there is none) to the handler.
 */
final class Delay implements Side {

	private static final int PUBLISHERS = 8;

	private static final int WORKERS = 8;

	private final Technology technology;

	private final int rate;

	private final Duration duration;

	private long nextId = 1;

	Delay(Technology technology, int rate, Duration duration) {
		this.technology = technology;
		this.rate = rate;
		this.duration = duration;
	}

	@Override
	public void warmUp() throws Exception {
		round();
	}

	@Override
	public Map<Metric, Double> round() throws Exception {
		int count = (int) (this.rate * this.duration.toMillis() / 1000);
		long first = this.nextId;
		this.nextId += count;
		AtomicLongArray sent = new AtomicLongArray(count);
		AtomicLongArray handled = new AtomicLongArray(count);
		CountDownLatch left = new CountDownLatch(count);
		CountDownLatch listening = new CountDownLatch(1);
		long marker = -first;
		try (AutoCloseable consumption = this.technology.consume(Consumption.live(WORKERS), (order) -> {
			if (order.id() == marker) {
				listening.countDown();
			}
			int index = (int) (order.id() - first);
			if (index >= 0 && index < count && handled.compareAndSet(index, 0, System.nanoTime())) {
				left.countDown();
			}
		})) {
			this.technology.publish(Order.of(marker), () -> {
			});
			Progress.await(listening, () -> 0, 1);
			publish(first, sent);
			Progress.await(left, () -> count - left.getCount(), count);
		}
		long[] delays = new long[count];
		for (int i = 0; i < count; i++) {
			delays[i] = handled.get(i) - sent.get(i);
		}
		Arrays.sort(delays);
		return Map.of(Metric.DELAY_P50, percentile(delays, 0.5), Metric.DELAY_P99, percentile(delays, 0.99),
				Metric.DELAY_P999, percentile(delays, 0.999));
	}

	private void publish(long first, AtomicLongArray sent) throws Exception {
		ExecutorService publishers = Executors.newFixedThreadPool(PUBLISHERS);
		try {
			long start = System.nanoTime();
			var futures = java.util.stream.IntStream.range(0, PUBLISHERS)
				.mapToObj((publisher) -> publishers.submit(() -> {
					for (int i = publisher; i < sent.length(); i += PUBLISHERS) {
						int index = i;
						await(start + i * 1_000_000_000L / this.rate);
						this.technology.publish(Order.of(first + i), () -> sent.set(index, System.nanoTime()));
					}
					return null;
				}))
				.toList();
			for (var future : futures) {
				future.get();
			}
		}
		finally {
			publishers.shutdownNow();
		}
	}

	private static void await(long time) {
		long left = time - System.nanoTime();
		while (left > 0) {
			LockSupport.parkNanos(left);
			left = time - System.nanoTime();
		}
	}

	private static double percentile(long[] sorted, double share) {
		return sorted[Math.min(sorted.length - 1, (int) (sorted.length * share))] / 1e6;
	}

	@Override
	public void close() throws Exception {
		this.technology.close();
	}

}
