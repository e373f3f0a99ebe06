package io.pgbus.sample;

import io.pgbus.Event;
import io.pgbus.annotation.PgEventListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Ships every order, but for those of broken items: they fail, which is on purpose. Their
 * events are tried again and are dead after three attempts, while other orders go on.
 */
@Component
class ShippingListener {

	private static final Logger logger = LoggerFactory.getLogger(ShippingListener.class);

	private final JdbcClient jdbc;

	ShippingListener(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	@PgEventListener(streams = "orders", group = "shipping", attempts = "3")
	void on(Event<OrderPlaced> event) {
		OrderPlaced order = event.payload();
		logger.info("shipping got event {} with key {}, attempt {}: {}", event.id(), event.key(), event.attempt(),
				order);
		this.jdbc.sql("insert into shipment (order_id) values (?)").param(order.orderId()).update();
		if (isBroken(order.item())) {
			// The shipment is rolled back with everything else the attempt has done.
			throw new IllegalStateException("Cannot ship a " + order.item());
		}
	}

	private boolean isBroken(String item) {
		return this.jdbc.sql("select exists (select from broken_item where item = ?)")
			.param(item)
			.query(Boolean.class)
			.single();
	}

}
