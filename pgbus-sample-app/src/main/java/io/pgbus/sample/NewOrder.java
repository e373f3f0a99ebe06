package io.pgbus.sample;

import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Positive;
import jakarta.validation.constraints.Size;

/**
 * An order as a customer sends it.
 *
 * @param customer who orders
 * @param item what is ordered
 * @param quantity how many
 * @param priceCents the price of one
 */
record NewOrder(@NotBlank @Size(max = 100) String customer, @NotBlank @Size(max = 100) String item,
		@Positive int quantity, @Positive int priceCents) {
}
