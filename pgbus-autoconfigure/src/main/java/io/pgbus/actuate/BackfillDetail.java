package io.pgbus.actuate;

import java.time.Duration;
import java.time.Instant;

import io.pgbus.BackfillInfo;
import org.jspecify.annotations.Nullable;

/**
 * How far a backfill is.
 *
 * @param id the id
 * @param table the table with its schema
 * @param name its name, or {@code null}
 * @param state its state
 * @param rowsRead how many rows have been dealt with
 * @param estimatedRows how many there are, or {@code null} if it is not known
 * @param share the estimated share that has been dealt with, from 0 to 1, or {@code null}
 * @param rowsPerSecond how many rows are dealt with in a second, or {@code null}
 * @param timeLeft the estimated time that is left, or {@code null}
 * @param error why it waits or has failed, or {@code null}
 * @param createdAt when it was asked for
 * @param startedAt when the first row could be read, or {@code null}
 * @param finishedAt when it came to an end, or {@code null}
 * @since 0.1.0
 */
public record BackfillDetail(long id, String table, @Nullable String name, BackfillInfo.State state, long rowsRead,
		@Nullable Long estimatedRows, @Nullable Double share, @Nullable Double rowsPerSecond,
		@Nullable Duration timeLeft, @Nullable String error, Instant createdAt, @Nullable Instant startedAt,
		@Nullable Instant finishedAt) {

	static BackfillDetail of(BackfillInfo info) {
		return new BackfillDetail(info.id(), info.table(), info.name(), info.state(), info.rowsRead(),
				info.estimatedRows(), info.share(), info.rowsPerSecond(), info.timeLeft(), info.error(),
				info.createdAt(), info.startedAt(), info.finishedAt());
	}

}
