package io.pgbus.benchmarks;

import java.util.List;
import java.util.function.Consumer;

/**
 * A way to publish events and to handle them, set up as its documentation advises. All
 * have the same payload, in JSON, and publish durably.
 */
interface Technology extends AutoCloseable {

	/**
	 * Publishes an order in a transaction of its own.
	 * @param order the order
	 * @param beforeCommit is told right before the transaction is committed, or where
	 * there is none, before the order is sent
	 * @throws Exception if it fails
	 */
	void publish(Order order, Runnable beforeCommit) throws Exception;

	/**
	 * Publishes orders in one transaction, or where there is none, in the way for many.
	 * @param orders the orders
	 * @throws Exception if it fails
	 */
	default void publishAll(List<Order> orders) throws Exception {
		throw new UnsupportedOperationException();
	}

	/**
	 * Sees to it that so many orders wait to be handled.
	 * @param count how many
	 * @throws Exception if it fails
	 */
	default void fill(int count) throws Exception {
		throw new UnsupportedOperationException();
	}

	/**
	 * Handles orders.
	 * @param how how
	 * @param handler handles an order
	 * @return what stops it
	 * @throws Exception if it fails
	 */
	default AutoCloseable consume(Consumption how, Consumer<Order> handler) throws Exception {
		throw new UnsupportedOperationException();
	}

	@Override
	default void close() throws Exception {
	}

}
