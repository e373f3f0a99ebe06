package io.pgbus;

/**
 * What becomes of the changes of a table while rows of it are backfilled.
 *
 * @since 0.1.0
 */
public enum LiveChanges {

	/** They wait until the backfill is done, so that no row goes back in time. */
	AFTER_BACKFILL,

	/**
	 * They come meanwhile. There is no order between the two: a change may come before
	 * the read of its row, which then has the change in it already.
	 */
	ALONGSIDE

}
