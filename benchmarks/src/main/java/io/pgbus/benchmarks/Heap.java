package io.pgbus.benchmarks;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.concurrent.atomic.AtomicLong;

import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;

import com.sun.management.GarbageCollectionNotificationInfo;

/**
 * The most heap that was in use after a garbage collection: what has to fit, without the
 * garbage between.
 */
final class Heap {

	private static final AtomicLong most = new AtomicLong();

	static {
		NotificationListener listener = (notification, handback) -> {
			MemoryUsage[] after = GarbageCollectionNotificationInfo.from((CompositeData) notification.getUserData())
				.getGcInfo()
				.getMemoryUsageAfterGc()
				.entrySet()
				.stream()
				.filter((pool) -> pool.getKey().matches("(?i).*(eden|survivor|old|tenured).*"))
				.map(java.util.Map.Entry::getValue)
				.toArray(MemoryUsage[]::new);
			long used = 0;
			for (MemoryUsage usage : after) {
				used += usage.getUsed();
			}
			most.accumulateAndGet(used, Math::max);
		};
		for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
			((NotificationEmitter) collector).addNotificationListener(listener, null, null);
		}
	}

	private Heap() {
	}

	static void reset() {
		System.gc();
		most.set(0);
	}

	static double mostMegabytes() {
		if (most.get() == 0) {
			System.gc();
			most.accumulateAndGet(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(), Math::max);
		}
		return most.get() / 1048576.0;
	}

}
