package io.pgbus.actuate;

import java.time.Duration;
import java.util.function.ToDoubleFunction;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.pgbus.listener.OutboxRelay;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gauges of the outbox. They are read from one look at it, which holds for a while.
 *
 * @since 0.1.0
 */
public class OutboxMeters implements MeterBinder {

	private static final Logger logger = LoggerFactory.getLogger(OutboxMeters.class);

	private final OutboxRelay relay;

	private final long intervalNanos;

	private @Nullable OutboxDetail last;

	private long lookedAtNanos;

	private boolean failing;

	/**
	 * Creates the gauges.
	 * @param relay knows the outbox
	 * @param interval the time for which a look holds
	 */
	public OutboxMeters(OutboxRelay relay, Duration interval) {
		this.relay = relay;
		this.intervalNanos = interval.toNanos();
		this.lookedAtNanos = System.nanoTime() - this.intervalNanos;
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

	private synchronized double read(ToDoubleFunction<OutboxDetail> value) {
		if (System.nanoTime() - this.lookedAtNanos >= this.intervalNanos) {
			this.last = look();
			this.lookedAtNanos = System.nanoTime();
		}
		return (this.last != null) ? value.applyAsDouble(this.last) : Double.NaN;
	}

	private @Nullable OutboxDetail look() {
		try {
			OutboxDetail detail = OutboxDetail.of(this.relay, null);
			this.failing = false;
			return detail;
		}
		catch (RuntimeException ex) {
			if (!this.failing) {
				logger.warn("The gauges of the outbox cannot be read and show nothing until they can: {}",
						ex.toString());
			}
			this.failing = true;
			return null;
		}
	}

}
