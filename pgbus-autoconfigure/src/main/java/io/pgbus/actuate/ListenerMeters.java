package io.pgbus.actuate;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.pgbus.listener.ListenerMetrics;

/**
 * Counts and times with Micrometer what the listeners of this application instance do.
 * How long handlers take is no meter of this class, but that of the observation
 * {@code pgbus.handle}.
 *
 * @since 0.1.0
 */
public class ListenerMeters implements ListenerMetrics {

	private final Meters<Counter> handled;

	private final Meters<Counter> failed;

	private final Meters<Timer> delays;

	private final Meters<Timer> claims;

	private final Meters<Timer> fetches;

	private final Meters<Counter> wakeUps;

	private final Meters<Counter> chunks;

	private final Meters<Counter> rows;

	/**
	 * Creates the meters.
	 * @param registry the registry
	 */
	public ListenerMeters(MeterRegistry registry) {
		this.handled = Meters.counters(registry, "pgbus.handled", "Events handled", "stream", "group");
		this.failed = Meters.counters(registry, "pgbus.failed", "Attempts to handle an event that failed", "stream",
				"group", "outcome");
		this.wakeUps = Meters.counters(registry, "pgbus.wakeups", "Times a listener was told to look for events",
				"group", "cause");
		this.chunks = Meters.counters(registry, "pgbus.backfill.chunks", "Chunks of backfills dealt with", "group",
				"table");
		this.rows = Meters.counters(registry, "pgbus.backfill.read", "Rows of these chunks", "group", "table");
		this.delays = Meters.timers(registry, "pgbus.delivery.delay",
				"From an event's publication to the start of its handling, where the first attempt succeeds", "stream",
				"group");
		this.claims = Meters.timers(registry, "pgbus.claim", "Looks for work: claiming a cursor and reading its events",
				"group", "result");
		this.fetches = Meters.timers(registry, "pgbus.fetch", "Saving a position and reading on", "group", "result");
	}

	@Override
	public void handled(String stream, String group, int events) {
		this.handled.of(stream, group).increment(events);
	}

	@Override
	public void delayed(String stream, String group, Duration delay) {
		this.delays.of(stream, group).record(delay);
	}

	@Override
	public void failed(String stream, String group, Fate fate) {
		this.failed.of(stream, group, Meters.value(fate)).increment();
	}

	@Override
	public void claimed(String group, Result result, long nanos) {
		this.claims.of(group, Meters.value(result)).record(nanos, TimeUnit.NANOSECONDS);
	}

	@Override
	public void fetched(String group, Result result, long nanos) {
		this.fetches.of(group, Meters.value(result)).record(nanos, TimeUnit.NANOSECONDS);
	}

	@Override
	public void backfilled(String table, String group, int rows) {
		this.chunks.of(group, table).increment();
		this.rows.of(group, table).increment(rows);
	}

	@Override
	public void wokenUp(String group, WakeUpCause cause) {
		this.wakeUps.of(group, Meters.value(cause)).increment();
	}

}
