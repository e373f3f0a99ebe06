package io.pgbus;

import java.util.Collection;
import java.util.List;

/**
 * Events were to be acknowledged that are not pending for the consumer: they were
 * acknowledged before, another consumer has taken them over, the consumer was silent for
 * too long, or the group was moved or deleted. A transaction in which this is thrown must
 * be rolled back, since another may have, or will have, the same effects.
 *
 * @since 0.1.0
 */
public class EventNotPendingException extends PgBusException {

	private static final long serialVersionUID = 1L;

	private static final int SHOWN = 10;

	private final List<Long> eventIds;

	/**
	 * Creates an exception.
	 * @param group the group
	 * @param consumer the consumer
	 * @param eventIds the events, of which at least one is not pending
	 */
	public EventNotPendingException(String group, String consumer, Collection<Long> eventIds) {
		super("Of " + eventIds.size() + " event(s), " + eventIds.stream().limit(SHOWN).toList()
				+ ((eventIds.size() > SHOWN) ? " and more" : "") + ", not all are pending for consumer \"" + consumer
				+ "\" of group \"" + group
				+ "\": acknowledged already, taken over by another consumer after a silence or by a claim, "
				+ "or the group was moved. Nothing was acknowledged; roll back what was done for them.");
		this.eventIds = List.copyOf(eventIds);
	}

	/**
	 * Returns the events of which at least one is not pending.
	 * @return their ids
	 */
	public List<Long> eventIds() {
		return this.eventIds;
	}

}
