package io.pgbus.benchmarks;

import java.time.Duration;

/**
 * How much is done. Whatever it is, all sides of a piece do it at the same scale, but for
 * peers' backlogs, which they take longer to fill and to empty: rates are compared.
 *
 * @param rounds how often each side is measured
 * @param publishing how long a round publishes
 * @param backlog the events of a backlog
 * @param peerBacklog the events of a peer's backlog
 * @param inserts the events of a backlog whose handler inserts
 * @param small the small backlog in the comparison of backlogs
 * @param delays how long a round measures delays
 * @param fanOut the events of a round with several groups
 * @param idle how long a round watches idle listeners
 * @param changes the changed rows
 * @param rows the rows of a backfill
 */
record Scale(int rounds, Duration publishing, int backlog, int peerBacklog, int inserts, int small, Duration delays,
		int fanOut, Duration idle, int changes, int rows) {

	static Scale of(String name) {
		return switch (name) {
			case "quick" -> new Scale(1, Duration.ofMillis(300), 5_000, 300, 300, 1_000, Duration.ofSeconds(1), 500,
					Duration.ofSeconds(2), 2_000, 5_000);
			case "short" -> new Scale(3, Duration.ofSeconds(1), 200_000, 2_000, 3_000, 20_000, Duration.ofSeconds(3),
					10_000, Duration.ofSeconds(5), 100_000, 200_000);
			case "full" -> new Scale(3, Duration.ofSeconds(3), 1_000_000, 5_000, 10_000, 100_000,
					Duration.ofSeconds(10), 20_000, Duration.ofSeconds(10), 300_000, 2_000_000);
			// the backlog grows, all else stays as it is
			case "huge" -> new Scale(3, Duration.ofSeconds(3), 10_000_000, 5_000, 10_000, 100_000,
					Duration.ofSeconds(10), 20_000, Duration.ofSeconds(10), 300_000, 2_000_000);
			default -> throw new IllegalArgumentException("The scale is quick, short, full or huge, not " + name);
		};
	}

}
