package io.pgbus.store;

import org.jspecify.annotations.Nullable;

/**
 * Another instance has taken over the capture. Nothing was changed.
 *
 * @since 0.1.0
 */
public final class LostCaptureException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	/**
	 * Creates an exception.
	 * @param seen the state that is another by now, or {@code null} for none
	 */
	public LostCaptureException(@Nullable CaptureCheckpoint seen) {
		super("The state of the capture is not " + ((seen != null) ? "version " + seen.version() : "empty")
				+ " any more: another instance captures.");
	}

}
