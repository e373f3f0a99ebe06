package io.pgbus;

/**
 * Sees every event that dies: that has failed and is not tried again. All beans of this
 * type are called, after the death was recorded and without a transaction. If the process
 * ends in between, they are not called for that event; it stays to be seen among the
 * failed events of its group.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface DeadLetterListener {

	/**
	 * An event is dead. An exception thrown here is logged and has no other effect.
	 * @param event the event, with its payload as JSON text and the number of the last
	 * attempt
	 * @param group the consumer group
	 * @param failure what the handler threw
	 */
	void onDeadLetter(Event<String> event, String group, Throwable failure);

}
