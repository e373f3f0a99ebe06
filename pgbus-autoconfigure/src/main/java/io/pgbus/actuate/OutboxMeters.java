package io.pgbus.actuate;

import java.time.Duration;
import java.util.function.ToDoubleFunction;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.pgbus.listener.OutboxRelay;

/**
 * Gauges of the outbox. They are read from one look at it, which holds for a while.
 *
 * @since 0.1.0
 */
public class OutboxMeters implements MeterBinder {

	private final TimedLook<OutboxDetail> look;

	/**
	 * Creates the gauges.
	 * @param relay knows the outbox
	 * @param interval the time for which a look holds
	 */
	public OutboxMeters(OutboxRelay relay, Duration interval) {
		this.look = new TimedLook<>("the outbox", () -> OutboxDetail.of(relay, null), (detail) -> {
		}, interval);
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		Gauge.builder("pgbus.outbox.lag", this, (meters) -> meters.read(OutboxDetail::estimatedLag))
			.description("Events that wait in the outbox to be carried to the bus, an estimate")
			.strongReference(true)
			.register(registry);
		Gauge.builder("pgbus.outbox.oldest.age", this, (meters) -> meters.read(OutboxDetail::lagSeconds))
			.description("Age of the oldest event that waits in the outbox")
			.baseUnit("seconds")
			.strongReference(true)
			.register(registry);
	}

	private double read(ToDoubleFunction<OutboxDetail> value) {
		OutboxDetail detail = this.look.get();
		return (detail != null) ? value.applyAsDouble(detail) : Double.NaN;
	}

}
