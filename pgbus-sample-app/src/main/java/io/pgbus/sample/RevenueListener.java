package io.pgbus.sample;

import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Keeps the revenue of each order. It listens to the table of the orders itself, so it
 * also knows of those that somebody puts there by hand, and by a backfill of those that
 * were there before it. An order may be replayed, so it is not added up but kept by its
 * id.
 */
@Component
class RevenueListener {

	private static final Logger logger = LoggerFactory.getLogger(RevenueListener.class);

	private static final String ADD = """
			insert into revenue (order_id, customer, total_cents) values (:id, :customer, :cents)
			on conflict (order_id) do update
			set customer = excluded.customer, total_cents = excluded.total_cents
			""";

	private final JdbcClient jdbc;

	RevenueListener(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	@PgTableListener(group = "revenue",
			tables = @PgTable(name = "orders", filter = "price_cents > 0", backfill = "select * from orders"),
			operations = TableOperation.INSERT, autoStartup = "${shop.revenue.enabled}")
	void on(TableChange<Order> change) {
		Order order = change.requireRecord();
		if (change.operation() != TableOperation.READ) {
			logger.info("revenue got {} of {} {}: {}", change.operation(), change.table(), change.key(), order);
		}
		this.jdbc.sql(ADD)
			.param("id", order.id())
			.param("customer", order.customer())
			.param("cents", (long) order.quantity() * order.priceCents())
			.update();
	}

}
