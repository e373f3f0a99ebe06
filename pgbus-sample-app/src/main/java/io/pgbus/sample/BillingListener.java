package io.pgbus.sample;

import io.pgbus.Event;
import io.pgbus.annotation.PgEventListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Writes an invoice for every order. Delivery is exactly once: pgbus notes in the
 * transaction that writes the invoice that the event is done, so nobody pays twice, and
 * there is no need to look for an earlier invoice.
 */
@Component
class BillingListener {

	private static final Logger logger = LoggerFactory.getLogger(BillingListener.class);

	private final JdbcClient jdbc;

	BillingListener(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	@PgEventListener(streams = "orders", group = "billing")
	void on(Event<OrderPlaced> event) {
		OrderPlaced order = event.payload();
		logger.info("billing got event {} with key {}: {}", event.id(), event.key(), order);
		this.jdbc.sql("insert into invoice (order_id, total_cents) values (?, ?)")
			.params(order.orderId(), (long) order.quantity() * order.priceCents())
			.update();
	}

}
