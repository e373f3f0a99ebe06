package io.pgbus.sample;

import java.time.Instant;
import java.util.List;

/**
 * An order, and what the consumer groups have done for it so far.
 *
 * @param order the order
 * @param done what was done, the oldest first
 */
record OrderStatus(Order order, List<Step> done) {

	/**
	 * What a group has done.
	 *
	 * @param group the consumer group
	 * @param what what it did
	 * @param doneAt when
	 */
	record Step(String group, String what, Instant doneAt) {
	}

}
