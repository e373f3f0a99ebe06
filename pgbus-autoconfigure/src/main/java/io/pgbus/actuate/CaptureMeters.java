package io.pgbus.actuate;

import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.pgbus.replication.CaptureStatus;
import io.pgbus.replication.CaptureWatch;
import io.pgbus.replication.SlotStatus;
import org.jspecify.annotations.Nullable;

/**
 * Meters of the capture of tables. What they read is what the instance that captures has
 * looked at last: a scrape costs no query. In all other instances the gauges of the slot
 * are not a number.
 *
 * @since 0.1.0
 */
public class CaptureMeters implements MeterBinder {

	private final CaptureWatch capture;

	/**
	 * Creates the meters.
	 * @param capture looks at the capture
	 */
	public CaptureMeters(CaptureWatch capture) {
		this.capture = capture;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		gauge(registry, "pgbus.capture.leader", "1 if this instance captures", null,
				(status) -> status.isLeader() ? 1 : 0);
		gauge(registry, "pgbus.capture.lag", "Write-ahead log that the capture has not passed", BaseUnits.BYTES,
				(status) -> ofSlot(status, SlotStatus::lagBytes));
		gauge(registry, "pgbus.capture.retained", "Write-ahead log that the server keeps for the capture",
				BaseUnits.BYTES, (status) -> ofSlot(status, SlotStatus::retainedBytes));
		count(registry, "pgbus.capture.changes", "Changes read from the write-ahead log", CaptureStatus::changes);
		count(registry, "pgbus.capture.events", "Changes appended to streams", CaptureStatus::events);
	}

	private static double ofSlot(CaptureStatus status, ToLongFunction<SlotStatus> value) {
		SlotStatus slot = status.slotStatus();
		return (status.isLeader() && slot != null) ? value.applyAsLong(slot) : Double.NaN;
	}

	private void gauge(MeterRegistry registry, String name, String description, @Nullable String unit,
			ToDoubleFunction<CaptureStatus> value) {
		Gauge.builder(name, this.capture, (watch) -> value.applyAsDouble(watch.status()))
			.description(description)
			.baseUnit(unit)
			.strongReference(true)
			.register(registry);
	}

	private void count(MeterRegistry registry, String name, String description, ToDoubleFunction<CaptureStatus> value) {
		FunctionCounter.builder(name, this.capture, (watch) -> value.applyAsDouble(watch.status()))
			.description(description)
			.register(registry);
	}

}
