package io.pgbus.store;

/**
 * Another instance has taken over the capture. Nothing was changed.
 *
 * @since 0.1.0
 */
public final class LostCaptureException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	/**
	 * Creates an exception.
	 * @param seen the state that is another by now
	 */
	public LostCaptureException(CaptureCheckpoint seen) {
		super("The state of the capture is not version " + seen.version() + " any more: another instance captures.");
	}

}
