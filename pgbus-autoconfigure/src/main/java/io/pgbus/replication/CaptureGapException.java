package io.pgbus.replication;

import io.pgbus.store.CaptureCheckpoint;
import org.jspecify.annotations.Nullable;

/**
 * The server no longer has changes that were not read.
 */
final class CaptureGapException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	private final transient @Nullable CaptureCheckpoint seen;

	private final boolean slotUsable;

	/**
	 * Creates an exception.
	 * @param reason what happened
	 * @param seen how far the capture was
	 * @param slotUsable whether the slot that is there can be gone on with
	 */
	CaptureGapException(String reason, @Nullable CaptureCheckpoint seen, boolean slotUsable) {
		super(reason);
		this.seen = seen;
		this.slotUsable = slotUsable;
	}

	String reason() {
		return String.valueOf(getMessage());
	}

	@Nullable CaptureCheckpoint seen() {
		return this.seen;
	}

	/** Whether nobody has gone on behind the gap yet. */
	boolean isStillAt(@Nullable CaptureCheckpoint now) {
		CaptureCheckpoint then = this.seen;
		return !this.slotUsable && then != null && now != null && then.position().equals(now.position());
	}

	boolean isSlotUsable() {
		return this.slotUsable;
	}

}
