package io.pgbus.sample;

import io.pgbus.EventType;

/**
 * The event that an order was placed. Its type name is stored with every event, so it is
 * chosen here and not derived from the class, which may be renamed.
 *
 * @param orderId the id of the order
 * @param customer who orders
 * @param item what is ordered
 * @param quantity how many
 * @param priceCents the price of one
 */
@EventType("order.placed")
record OrderPlaced(long orderId, String customer, String item, int quantity, int priceCents) {
}
