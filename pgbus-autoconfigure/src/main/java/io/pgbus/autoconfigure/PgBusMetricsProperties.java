package io.pgbus.autoconfigure;

import java.time.Duration;

import io.pgbus.actuate.GroupGauges;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Properties of the bus's metrics.
 *
 * @since 0.1.0
 */
@ConfigurationProperties("pgbus.metrics")
public class PgBusMetricsProperties {

	/**
	 * Whether what the bus does is counted and timed, where there is a meter registry.
	 */
	private boolean enabled = true;

	/**
	 * Time for which one look at the database serves the gauges of groups, and one those
	 * of backfills.
	 */
	private Duration gaugeInterval = GroupGauges.DEFAULT_INTERVAL;

	public boolean isEnabled() {
		return this.enabled;
	}

	public void setEnabled(boolean enabled) {
		this.enabled = enabled;
	}

	public Duration getGaugeInterval() {
		return this.gaugeInterval;
	}

	public void setGaugeInterval(Duration gaugeInterval) {
		this.gaugeInterval = gaugeInterval;
	}

}
