package io.pgbus;

/**
 * What a listener may count on when something breaks between the handler and the record
 * of what it has done.
 *
 * @since 0.1.0
 */
public enum DeliveryMode {

	/**
	 * The handler runs in a Spring transaction on the bus's DataSource, and that the
	 * event is done is recorded in the same transaction: its effects in that database
	 * happen once.
	 */
	EXACTLY_ONCE,

	/**
	 * The handler runs without a transaction, and that the event is done is recorded
	 * afterwards: after a crash in between the event is delivered again.
	 */
	AT_LEAST_ONCE

}
