package io.pgbus.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

import io.pgbus.replication.CaptureReport;
import io.pgbus.replication.CaptureReport.Gap;
import io.pgbus.replication.CaptureStatus;
import io.pgbus.replication.SlotStatus;
import org.jspecify.annotations.Nullable;

/**
 * The capture of tables, at most {@value #LIMIT} of everything.
 *
 * @param state what the capture of this instance does
 * @param since since when
 * @param failure why it does not capture, or {@code null}
 * @param remedy what to do about it, or {@code null}
 * @param holder the instance that captured last, or {@code null} if none ever did
 * @param slot the name of the replication slot
 * @param slotState whether the server still has what the slot needs, as
 * {@code pg_replication_slots.wal_status} has it; {@code missing} if there is no slot
 * @param position up to which LSN changes are in the log, or {@code null}
 * @param lagBytes bytes of write-ahead log that the capture has not passed, or
 * {@code null} if there is no slot
 * @param lagSeconds the age of the change captured last while there is a lag, or
 * {@code null} if this instance does not capture
 * @param retainedBytes bytes of write-ahead log that the server keeps for the slot, or
 * {@code null} if there is none
 * @param safeBytes bytes that may be written before the slot is lost, or {@code null} if
 * there is no limit
 * @param changes the changes that this instance has read since it captures
 * @param events the events that this instance has appended since it captures
 * @param lastCommitAt when the change captured last was committed, or {@code null}
 * @param tables which groups listen to which tables
 * @param gaps the gaps, newest first
 * @since 0.1.0
 */
public record CaptureDetail(CaptureStatus.State state, Instant since, @Nullable String failure, @Nullable String remedy,
		@Nullable String holder, String slot, String slotState, @Nullable String position, @Nullable Long lagBytes,
		@Nullable Double lagSeconds, @Nullable Long retainedBytes, @Nullable Long safeBytes, long changes, long events,
		@Nullable Instant lastCommitAt, List<Table> tables, List<Gap> gaps) {

	static final int LIMIT = 500;

	/** Positions are saved now and then, so there is always some. */
	private static final long WORTH_CALLING_LAG = 1 << 20;

	static CaptureDetail of(CaptureReport report) {
		CaptureStatus status = report.status();
		SlotStatus slot = report.slot();
		return new CaptureDetail(status.state(), status.since(), status.failure(), status.remedy(), report.holder(),
				status.slot(), stateOf(slot), report.position(), (slot != null) ? slot.lagBytes() : null,
				lagSeconds(status, slot), (slot != null) ? slot.retainedBytes() : null,
				(slot != null) ? slot.safeBytes() : null, status.changes(), status.events(), status.lastCommitAt(),
				report.tables()
					.stream()
					.limit(LIMIT)
					.map((table) -> new Table(table.qualifiedName(), table.group(), table.filter()))
					.toList(),
				report.gaps().stream().limit(LIMIT).toList());
	}

	private static String stateOf(@Nullable SlotStatus slot) {
		if (slot == null) {
			return "missing";
		}
		return (slot.walStatus() != null) ? slot.walStatus() : "unknown";
	}

	private static @Nullable Double lagSeconds(CaptureStatus status, @Nullable SlotStatus slot) {
		if (!status.isLeader() || slot == null) {
			return null;
		}
		Instant last = status.lastCommitAt();
		if (slot.lagBytes() < WORTH_CALLING_LAG || last == null) {
			return 0d;
		}
		return Math.max(0, Duration.between(last, Instant.now()).toMillis()) / 1000d;
	}

	/**
	 * A table that a group listens to.
	 *
	 * @param table the table with its schema
	 * @param group the name of the group
	 * @param filter the condition on rows, or {@code null}
	 */
	public record Table(String table, String group, @Nullable String filter) {

	}

}
