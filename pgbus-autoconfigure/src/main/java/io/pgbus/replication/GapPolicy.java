package io.pgbus.replication;

/**
 * What the capture does when the server no longer has changes that were not read.
 *
 * @since 0.1.0
 */
public enum GapPolicy {

	/** It stops, until someone has looked and says that it is to go on. */
	STOP,

	/** It records the gap, tells the groups that listen to gaps, and goes on. */
	RESUME

}
