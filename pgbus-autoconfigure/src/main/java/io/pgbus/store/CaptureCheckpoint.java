package io.pgbus.store;

import java.time.Instant;

/**
 * How far the capture of changes is.
 *
 * @param version which state this is; a change is made only to the state that was seen
 * @param changedAt since when it is this
 * @param holder the instance that wrote it, for people
 * @param slot the name of the replication slot
 * @param systemId the server's system identifier
 * @param position all changes up to here are in the log
 * @param confirmedLsn the highest LSN, unsigned, that the slot may have been told of
 * @since 0.1.0
 */
public record CaptureCheckpoint(long version, Instant changedAt, String holder, String slot, String systemId,
		CapturePosition position, long confirmedLsn) {

}
