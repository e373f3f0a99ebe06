package io.pgbus.replication;

import java.time.Instant;
import java.util.List;

import io.pgbus.store.TableSubscription;
import org.jspecify.annotations.Nullable;

/**
 * The capture of a bus in one look, from whichever instance.
 *
 * @param status what the capture of this instance does
 * @param slot the slot as it is now, or {@code null} if there is none
 * @param holder the instance that captured last, or {@code null} if none ever did
 * @param position up to which LSN changes are in the log, or {@code null} if none were
 * captured
 * @param savedAt when that was saved, or {@code null}
 * @param gaps the gaps, newest first
 * @param tables which groups listen to which tables
 * @since 0.1.0
 */
public record CaptureReport(CaptureStatus status, @Nullable SlotStatus slot, @Nullable String holder,
		@Nullable String position, @Nullable Instant savedAt, List<Gap> gaps, List<TableSubscription> tables) {

	/**
	 * Changes that were missed.
	 *
	 * @param foundAt when that was found
	 * @param reason why
	 * @param from the LSN up to which changes are in the log, or {@code null} if unknown
	 * @param to the LSN from which on they are again, or {@code null} if the capture has
	 * not gone on
	 */
	public record Gap(Instant foundAt, String reason, @Nullable String from, @Nullable String to) {

	}

}
