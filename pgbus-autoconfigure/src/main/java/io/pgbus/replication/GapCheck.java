package io.pgbus.replication;

import io.pgbus.store.CaptureCheckpoint;
import org.jspecify.annotations.Nullable;
import org.postgresql.replication.LogSequenceNumber;

/**
 * Finds out whether the server still has all changes behind the checkpoint.
 */
final class GapCheck {

	private GapCheck() {
	}

	/**
	 * Compares what is saved with what there is.
	 * @param settings has the name of the slot
	 * @param slot the slot, looked at before the checkpoint was read: what a slot is told
	 * is saved before
	 * @param seen the checkpoint
	 * @param systemId the server's system identifier
	 * @param serverLsn the end of the server's write-ahead log, unsigned
	 * @return the gap, or {@code null} if there is none
	 */
	static @Nullable CaptureGapException find(CaptureSettings settings, @Nullable SlotStatus slot,
			@Nullable CaptureCheckpoint seen, String systemId, long serverLsn) {
		String name = "the replication slot \"" + settings.slot() + "\"";
		if (slot != null && slot.isLost()) {
			return new CaptureGapException("The server has given up " + name + " (" + slot.invalidation()
					+ "), with the changes that were not read.", seen, false);
		}
		if (seen == null) {
			return null;
		}
		if (!seen.systemId().equals(systemId)) {
			return new CaptureGapException("The database is in another cluster than before: its system identifier is "
					+ systemId + " and was " + seen.systemId() + ".", seen, slot != null);
		}
		if (!seen.slot().equals(settings.slot())) {
			return new CaptureGapException("Changes were read from the replication slot \"" + seen.slot()
					+ "\" until now, and are to be read from " + name + ".", seen, slot != null);
		}
		if (slot == null) {
			return new CaptureGapException("The server has no " + name.substring("the ".length())
					+ " any more, and so not the changes that were not read.", seen, false);
		}
		if (Long.compareUnsigned(slot.confirmedLsn(), seen.confirmedLsn()) > 0) {
			return new CaptureGapException("The server has forgotten changes up to " + text(slot.confirmedLsn())
					+ ", which is ahead of what was confirmed, " + text(seen.confirmedLsn()) + ": " + name
					+ " was made anew or advanced by others.", seen, true);
		}
		long saved = seen.position().commit();
		if (Long.compareUnsigned(saved, serverLsn) > 0) {
			return new CaptureGapException("The server's write-ahead log ends at " + text(serverLsn)
					+ ", before what was captured, " + text(saved) + ": it lost changes, or was set back.", seen, true);
		}
		return null;
	}

	private static String text(long lsn) {
		return LogSequenceNumber.valueOf(lsn).asString();
	}

}
