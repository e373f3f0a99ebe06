package io.pgbus.sample;

import java.time.Instant;

/**
 * A row of the table {@code orders}.
 *
 * @param id the id
 * @param customer who orders
 * @param item what is ordered
 * @param quantity how many
 * @param priceCents the price of one
 * @param placedAt when it was placed
 */
record Order(long id, String customer, String item, int quantity, int priceCents, Instant placedAt) {
}
