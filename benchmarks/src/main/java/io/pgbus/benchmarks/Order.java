package io.pgbus.benchmarks;

import java.util.List;
import java.util.stream.LongStream;

/**
 * The payload of every event on every side: about 300 bytes as JSON.
 *
 * @param id the id, from 1
 * @param customer the customer, who is the event's key
 * @param status the status
 * @param total the total in cents
 * @param note some text
 * @param items the items
 */
record Order(long id, String customer, String status, long total, String note, List<Item> items) {

	static final String STREAM = "orders";

	static final String TYPE = "order.placed";

	private static final int CUSTOMERS = 1000;

	static final String NOTE = "Leave it with the neighbours if nobody opens the door, and ring twice, please.";

	/**
	 * The same payload in SQL, for order {@code i}.
	 */
	static final String JSON_IN_SQL = """
			jsonb_build_object('id', i, 'customer', 'customer-' || i %% %d, 'status', 'placed', 'total', 1999 + i %% 1000,
				'note', '%s', 'items', jsonb_build_array(
					jsonb_build_object('sku', 'lamp-' || i %% 50, 'quantity', 2, 'price', 999),
					jsonb_build_object('sku', 'bulb-' || i %% 70, 'quantity', 1, 'price', 1)))
			"""
		.formatted(CUSTOMERS, NOTE);

	static final String KEY_IN_SQL = "'customer-' || i %% %d".formatted(CUSTOMERS);

	/**
	 * A table of orders, and rows for it like the payload.
	 */
	static final String TABLE = """
			create table orders (id bigint primary key, customer text not null, status text not null,
				total bigint not null, note text not null, items jsonb not null)""";

	static final String ROWS_IN_SQL = """
			insert into orders
			select %%d + i, 'customer-' || i %%%% %d, 'placed', 1999 + i %%%% 1000, '%s', jsonb_build_array(
				jsonb_build_object('sku', 'lamp-' || i %%%% 50, 'quantity', 2, 'price', 999),
				jsonb_build_object('sku', 'bulb-' || i %%%% 70, 'quantity', 1, 'price', 1))
			from numbers
			""".formatted(CUSTOMERS, NOTE);

	static Order of(long id) {
		return new Order(id, "customer-" + Math.abs(id) % CUSTOMERS, "placed", 1999 + id % 1000, NOTE,
				List.of(new Item("lamp-" + id % 50, 2, 999), new Item("bulb-" + id % 70, 1, 1)));
	}

	static List<Order> range(long from, int count) {
		return LongStream.range(from, from + count).mapToObj(Order::of).toList();
	}

	/**
	 * An item of an order.
	 *
	 * @param sku the article
	 * @param quantity how many
	 * @param price the price of each in cents
	 */
	record Item(String sku, int quantity, long price) {

	}

}
