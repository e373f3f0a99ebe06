package io.pgbus.replication;

import java.util.List;

import io.pgbus.store.CapturePosition;
import io.pgbus.store.RowChange;
import org.jspecify.annotations.Nullable;

/**
 * Changes that are appended in one transaction.
 *
 * @param changes the changes, in the order of the stream; perhaps none
 * @param to where the last of them is, or {@code null} if there are none
 * @param read the LSN, unsigned, up to which the slot may forget once they are appended,
 * or 0 if it is not known
 */
record ChangeBatch(List<RowChange> changes, @Nullable CapturePosition to, long read) {

}
