package io.pgbus.actuate;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.pgbus.core.PublisherMetrics;

/**
 * Counts with Micrometer what this application instance publishes.
 *
 * @since 0.1.0
 */
public class PublisherMeters implements PublisherMetrics {

	private final Meters<Counter> published;

	/**
	 * Creates the meters.
	 * @param registry the registry
	 */
	public PublisherMeters(MeterRegistry registry) {
		this.published = Meters.counters(registry, "pgbus.published", "Events published and committed", "stream");
	}

	@Override
	public void published(String stream, int events) {
		this.published.of(stream).increment(events);
	}

}
