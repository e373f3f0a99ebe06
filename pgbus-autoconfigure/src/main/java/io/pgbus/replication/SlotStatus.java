package io.pgbus.replication;

import org.jspecify.annotations.Nullable;

/**
 * A replication slot as the server sees it.
 *
 * @param name its name
 * @param plugin its output plugin
 * @param database its database
 * @param activePid the server process that streams from it, or {@code null} if none does
 * @param walStatus whether the server still has the write-ahead log that it needs:
 * {@code reserved}, {@code extended}, {@code unreserved} or {@code lost}
 * @param invalidation why it cannot be used any more, or {@code null} if it can
 * @param confirmedLsn up to where the server may forget changes, unsigned; 0 while the
 * slot is being made
 * @param lagBytes how many bytes of write-ahead log were written since
 * @param retainedBytes how many bytes of write-ahead log are kept for it
 * @param safeBytes how many more bytes may be written before it is lost, or {@code null}
 * if {@code max_slot_wal_keep_size} sets no limit
 * @since 0.1.0
 */
public record SlotStatus(String name, @Nullable String plugin, @Nullable String database, @Nullable Integer activePid,
		@Nullable String walStatus, @Nullable String invalidation, long confirmedLsn, long lagBytes, long retainedBytes,
		@Nullable Long safeBytes) {

	/**
	 * Tells whether an instance streams from the slot.
	 * @return whether one does
	 */
	public boolean isActive() {
		return this.activePid != null;
	}

	/** Whether changes are kept: a new slot first waits for transactions that write. */
	boolean isMade() {
		return this.confirmedLsn != 0;
	}

	boolean isLost() {
		return this.invalidation != null || "lost".equals(this.walStatus);
	}

}
