package io.pgbus.store;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * How rows of a backfill are read.
 *
 * @param chunkRows the most rows of one read
 * @param chunkBytes the most bytes of one read, unless one row has more
 * @param rowsPerSecond the most rows in a second, on the average, or {@code null} for no
 * limit
 * @param timeout the time that one read may take
 * @since 0.1.0
 */
public record BackfillSettings(int chunkRows, long chunkBytes, @Nullable Integer rowsPerSecond, Duration timeout) {

	/** The settings by default. */
	public static final BackfillSettings DEFAULTS = new BackfillSettings(1000, 4 * 1024 * 1024, null,
			Duration.ofMinutes(1));

	/**
	 * Checks the values.
	 * @throws IllegalArgumentException if one is not positive
	 */
	public BackfillSettings {
		if (chunkRows < 1 || chunkBytes < 1 || (rowsPerSecond != null && rowsPerSecond < 1) || timeout.toMillis() < 1) {
			throw new IllegalArgumentException("pgbus.backfill.chunk-rows, chunk-bytes, rows-per-second and "
					+ "statement-timeout must be positive");
		}
	}

}
