package io.pgbus.listener;

/**
 * The cursor a worker holds is another's by now, or what it was about to do is done
 * already. The worker drops what it is doing and claims anew.
 */
final class LostCursorException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	LostCursorException(String message) {
		super(message, null, false, false);
	}

}
