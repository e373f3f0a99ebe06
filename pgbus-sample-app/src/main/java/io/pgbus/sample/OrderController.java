package io.pgbus.sample;

import java.net.URI;

import jakarta.validation.Valid;

import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The shop's counter.
 */
@RestController
@RequestMapping("/orders")
class OrderController {

	private final OrderService orders;

	OrderController(OrderService orders) {
		this.orders = orders;
	}

	@PostMapping
	ResponseEntity<Confirmation> place(@Valid @RequestBody NewOrder order) {
		long id = this.orders.place(order);
		return ResponseEntity.created(URI.create("/orders/" + id)).body(new Confirmation(id));
	}

	@GetMapping("/{id}")
	ResponseEntity<OrderStatus> find(@PathVariable long id) {
		return ResponseEntity.of(this.orders.find(id));
	}

	/**
	 * What a customer gets for an order.
	 *
	 * @param id the id of the order
	 */
	record Confirmation(long id) {
	}

}
