package io.pgbus.core;

/**
 * Is told which streams have new events once they can be read, and wakes those who wait
 * for them, here and in other instances.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface WakeUps {

	/**
	 * A stream has new events, which are committed. Must not block.
	 * @param streamId the stream
	 */
	void published(int streamId);

}
