package io.pgbus.benchmarks;

/**
 * What is measured.
 */
enum Metric {

	PUBLISHED("published", "events/s", true),

	HANDLED("handled", "events/s", true),

	DELAY_P50("delay, p50", "ms", false),

	DELAY_P99("delay, p99", "ms", false),

	DELAY_P999("delay, p99.9", "ms", false),

	WAL("WAL", "bytes/event", false),

	STATEMENTS("statements", "per s", false),

	TRANSACTIONS("transactions", "per s", false),

	HEAP("heap", "MB", false);

	private final String label;

	private final String unit;

	private final boolean moreIsBetter;

	Metric(String label, String unit, boolean moreIsBetter) {
		this.label = label;
		this.unit = unit;
		this.moreIsBetter = moreIsBetter;
	}

	String label() {
		return this.label;
	}

	String unit() {
		return this.unit;
	}

	boolean moreIsBetter() {
		return this.moreIsBetter;
	}

}
