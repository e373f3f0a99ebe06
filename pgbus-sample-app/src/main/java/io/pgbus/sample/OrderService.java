package io.pgbus.sample;

import java.util.List;
import java.util.Optional;

import io.pgbus.EventPublisher;

import org.springframework.jdbc.core.RowMapper;
import org.springframework.jdbc.core.SimplePropertyRowMapper;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/**
 * Takes orders, and knows what became of them.
 */
@Service
class OrderService {

	private static final String INSERT = """
			insert into orders (customer, item, quantity, price_cents)
			values (:customer, :item, :quantity, :priceCents)
			returning id
			""";

	private static final String STEPS = """
			select 'billing' as group, 'invoice ' || id || ' over ' || total_cents || ' cents' as what, done_at
			from invoice where order_id = :id
			union all
			select 'shipping', 'shipment ' || id, done_at
			from shipment where order_id = :id
			union all
			select 'audit', 'noted ' || type || ', event ' || event_id, done_at
			from audit_entry where key = :id::text
			order by done_at
			""";

	private static final RowMapper<OrderStatus.Step> STEP = new SimplePropertyRowMapper<>(OrderStatus.Step.class);

	private final JdbcClient jdbc;

	private final EventPublisher events;

	OrderService(JdbcClient jdbc, EventPublisher events) {
		this.jdbc = jdbc;
		this.events = events;
	}

	/**
	 * Stores an order and publishes that it was placed: both, or neither. The order's id
	 * is the event's key, so all events of one order are delivered in order.
	 * @return the id of the order
	 */
	@Transactional
	public long place(NewOrder order) {
		long id = this.jdbc.sql(INSERT).paramSource(order).query(Long.class).single();
		this.events.publish("orders", Long.toString(id),
				new OrderPlaced(id, order.customer(), order.item(), order.quantity(), order.priceCents()));
		return id;
	}

	Optional<OrderStatus> find(long id) {
		Optional<Order> order = this.jdbc.sql("select * from orders where id = ?")
			.param(id)
			.query(Order.class)
			.optional();
		return order.map((found) -> new OrderStatus(found, steps(id)));
	}

	/** Returns what a customer has ordered for, in cents. */
	long revenue(String customer) {
		return this.jdbc.sql("select coalesce(sum(total_cents), 0) from revenue where customer = ?")
			.param(customer)
			.query(Long.class)
			.single();
	}

	private List<OrderStatus.Step> steps(long id) {
		return this.jdbc.sql(STEPS).param("id", id).query(STEP).list();
	}

}
