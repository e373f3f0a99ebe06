package io.pgbus.sample;

import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Puts orders into the table before anybody listens to it, if it is empty, so that there
 * is something to backfill. Nothing is published of them.
 */
@Component
class OldOrders implements InitializingBean {

	private static final String INSERT = """
			insert into orders (customer, item, quantity, price_cents)
			select 'customer ' || n % 100, 'lamp', 1, 100 + n % 1000 from generate_series(1, :orders) n
			where not exists (select from orders)
			""";

	private final JdbcClient jdbc;

	private final int orders;

	OldOrders(JdbcClient jdbc, @Value("${shop.old-orders}") int orders) {
		this.jdbc = jdbc;
		this.orders = orders;
	}

	@Override
	public void afterPropertiesSet() {
		if (this.orders > 0) {
			this.jdbc.sql(INSERT).param("orders", this.orders).update();
			this.jdbc.sql("analyze orders").update();
		}
	}

}
