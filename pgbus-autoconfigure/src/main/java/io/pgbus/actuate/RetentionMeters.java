package io.pgbus.actuate;

import java.util.function.ToDoubleFunction;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.pgbus.store.RetentionMaintenance;
import io.pgbus.store.RetentionTotals;

/**
 * Meters of the segments of the log and of what goes with them. What they read is known:
 * a scrape costs no query.
 *
 * @since 0.1.0
 */
public class RetentionMeters implements MeterBinder {

	private final RetentionMaintenance retention;

	/**
	 * Creates the meters.
	 * @param retention looks after the segments
	 */
	public RetentionMeters(RetentionMaintenance retention) {
		this.retention = retention;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		Gauge.builder("pgbus.segments", this.retention, RetentionMeters::segments)
			.description("Segments of the log")
			.strongReference(true)
			.register(registry);
		count(registry, "pgbus.retention.dropped", "Segments of the log that were dropped", RetentionTotals::dropped);
		count(registry, "pgbus.retention.deleted", "Events deleted from segments that stay", RetentionTotals::deleted);
		count(registry, "pgbus.retention.unread", "Events that have gone though a group had not read them",
				RetentionTotals::unread);
	}

	private static double segments(RetentionMaintenance retention) {
		Integer segments = retention.totals().segments();
		return (segments != null) ? segments : Double.NaN;
	}

	private void count(MeterRegistry registry, String name, String description,
			ToDoubleFunction<RetentionTotals> value) {
		FunctionCounter.builder(name, this.retention, (all) -> value.applyAsDouble(all.totals()))
			.description(description)
			.register(registry);
	}

}
