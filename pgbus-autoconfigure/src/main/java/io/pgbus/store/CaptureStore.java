package io.pgbus.store;

import java.time.Duration;
import java.util.List;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * Appends captured changes to the streams of their tables, and keeps how far that is.
 * Everything here runs apart from the caller's transaction.
 *
 * @since 0.1.0
 */
@SuppressWarnings("DoNotCallSuggester")
public final class CaptureStore {

	/**
	 * Creates the store.
	 * @param database the database
	 * @param listeners who wants which changes
	 * @param filterTimeout the time that one statement with filters may take
	 */
	public CaptureStore(BusDatabase database, TableListenerStore listeners, Duration filterTimeout) {
		throw new UnsupportedOperationException(database.schema() + listeners.subscriptions() + filterTimeout);
	}

	/**
	 * Returns how far the capture is.
	 * @return the state, or {@code null} if nothing was captured yet
	 */
	public @Nullable CaptureCheckpoint read() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Writes the first state, when the slot has been made.
	 * @param holder the instance, for people
	 * @param slot the name of the slot
	 * @param systemId the server's system identifier
	 * @param lsn the LSN at which the slot starts, unsigned
	 * @return the state
	 * @throws LostCaptureException if another instance has just written one
	 */
	public CaptureCheckpoint begin(String holder, String slot, String systemId, long lsn) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Takes the capture over, so that whoever had it until now finds it lost.
	 * @param seen the state that was read
	 * @param holder the instance, for people
	 * @return the new state, with the same position
	 * @throws LostCaptureException if the state is another by now
	 */
	public CaptureCheckpoint takeOver(CaptureCheckpoint seen, String holder) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Appends the changes that groups want and saves the position, in one transaction.
	 * @param seen the state
	 * @param changes changes behind its position, in the order of the stream; perhaps
	 * none
	 * @param to the position to save, at or behind the last of them. A large transaction
	 * may come in several parts; the last one's position is {@link CapturePosition#WHOLE}
	 * @return the new state, and what was appended
	 * @throws LostCaptureException if the state is another by now
	 */
	public Appended append(CaptureCheckpoint seen, List<RowChange> changes, CapturePosition to) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Saves what the slot is about to be told.
	 * @param seen the state
	 * @param lsn the LSN, unsigned, up to which the slot may forget
	 * @return the new state
	 * @throws LostCaptureException if the state is another by now
	 */
	public CaptureCheckpoint confirm(CaptureCheckpoint seen, long lsn) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Records that changes were missed, and that the capture has stopped there. The same
	 * gap is recorded once.
	 * @param seen the state, or {@code null} if there is none
	 * @param reason why, for people
	 */
	public void recordGap(@Nullable CaptureCheckpoint seen, String reason) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Goes on behind a gap, with a slot that has just been made: records the gap, tells
	 * the groups that listen to gaps by an event for each of their tables, and saves the
	 * new position, in one transaction.
	 * @param seen the state
	 * @param reason why changes were missed, for people
	 * @param holder the instance, for people
	 * @param slot the name of the slot
	 * @param systemId the server's system identifier
	 * @param lsn the LSN at which the slot starts, unsigned
	 * @return the new state, and what was appended
	 * @throws LostCaptureException if the state is another by now
	 */
	public Appended resume(CaptureCheckpoint seen, String reason, String holder, String slot, String systemId,
			long lsn) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Returns the gaps.
	 * @return at most a hundred, newest first
	 */
	public List<CaptureGap> gaps() {
		throw new UnsupportedOperationException();
	}

	/**
	 * What became of an append.
	 *
	 * @param checkpoint the new state
	 * @param events how many events were appended
	 * @param streamIds the streams that have them, whose groups are to be woken
	 */
	public record Appended(CaptureCheckpoint checkpoint, int events, Set<Integer> streamIds) {

	}

}
