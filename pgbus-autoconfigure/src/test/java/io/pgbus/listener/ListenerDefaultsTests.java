package io.pgbus.listener;

import java.time.Duration;

import org.junit.jupiter.api.Test;

import org.springframework.util.unit.DataSize;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

class ListenerDefaultsTests {

	private final ListenerDefaults given = ListenerDefaults.DEFAULT;

	@Test
	void numbersThatWouldDoNothingAreRefusedByTheirProperties() {
		refused("concurrency", () -> with(0, 1, 1, 1, 1));
		refused("batch-size", () -> with(1, 0, 1, 1, 1));
		refused("batch-bytes", () -> with(1, 1, 0, 1, 1));
		refused("events-per-transaction", () -> with(1, 1, 1, 0, 1));
		refused("poll-interval", () -> with(1, 1, 1, 1, 0));
		refused("idle-event-interval", () -> new ListenerDefaults(this.given.delivery(), this.given.start(), 1, 1,
				DataSize.ofBytes(1), 1, Duration.ofMillis(1), this.given.retry(), Duration.ZERO));
	}

	private static void refused(String property, Runnable creation) {
		assertThatThrownBy(creation::run).isInstanceOf(IllegalArgumentException.class)
			.hasMessageContaining("pgbus.listener." + property);
	}

	private void with(int concurrency, int batchSize, int batchBytes, int eventsPerTransaction, int pollMillis) {
		new ListenerDefaults(this.given.delivery(), this.given.start(), concurrency, batchSize,
				DataSize.ofBytes(batchBytes), eventsPerTransaction, Duration.ofMillis(pollMillis), this.given.retry());
	}

}
