package io.pgbus.annotation;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.ListenedTable;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.UnreadableEventException;
import io.pgbus.listener.ConfiguredTables;
import io.pgbus.listener.PgListenerEndpoint;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

import static io.pgbus.annotation.PgEventListenerAttributesTests.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class PgTableListenerTests {

	private static final String UPDATE = """
			{"table": "public.orders", "key": {"id": 7}, "record": {"id": 7, "total_amount": 12345678901234567890.50, "paid_at": null,
			"new_column": 1}, "previous": {"id": 7, "total_amount": 9.0}, "changed": ["total_amount"],
			"unavailable": ["document"], "refetched": ["note"], "committedAt": "2026-01-31T12:00:00.5Z",
			"xid": "4294967297", "lsn": "0/16B3748", "ordinal": 3}""";

	@Test
	void hasTheAttributesOfEveryListener() {
		try (ListenerContext context = ListenerContext.of(ListenerContext.properties("delivery", "at-least-once"),
				Everything.class)) {
			PgListenerEndpoint endpoint = context.registry().endpoint("everything");
			assertThat(endpoint.group()).isEqualTo("orders");
			assertThat(endpoint.streams()).isEmpty();
			assertThat(endpoint.types()).isNull();
			assertThat(endpoint.concurrency()).isEqualTo(10);
			assertThat(endpoint.delivery()).isEqualTo(DeliveryMode.AT_LEAST_ONCE);
			assertThat(endpoint.batch()).isTrue();
			assertThat(endpoint.autoStartup()).isFalse();
			assertThat(endpoint.retry()).isNotNull().satisfies((retry) -> {
				assertThat(retry.attempts()).isEqualTo(2);
				assertThat(retry.backOff()).hasSeconds(3);
			});
			assertThat(endpoint.tables()).containsExactly(
					new ListenedTable("orders", "processed_at is not null",
							Set.of(TableOperation.INSERT, TableOperation.DELETE), Set.of("status", "total")),
					new ListenedTable("shop.\"Items\"", null, Set.of(TableOperation.TRUNCATE), Set.of()));
		}
	}

	@Test
	void wantsInsertsAndUpdatesByDefault() {
		try (ListenerContext context = ListenerContext.of(Single.class)) {
			assertThat(context.registry().endpoint("orders").tables()).containsExactly(ListenedTable.of("orders"));
		}
	}

	@Test
	void readsRowsWithColumnsInSnakeCase() throws Exception {
		try (ListenerContext context = ListenerContext.of(Single.class)) {
			context.registry().deliver("orders", List.of(change(context, "update", UPDATE, "in")));
			assertThat(context.bean(Single.class).values).singleElement().satisfies((value) -> {
				TableChange<?> change = (TableChange<?>) value;
				assertThat(change.operation()).isEqualTo(TableOperation.UPDATE);
				assertThat(change.table()).isEqualTo("public.orders");
				assertThat(change.key()).isEqualTo(Map.of("id", 7));
				assertThat(change.record()).isEqualTo(new Order(7, new BigDecimal("12345678901234567890.50"), null));
				assertThat(change.previous()).isEqualTo(new Order(7, new BigDecimal("9.0"), null));
				assertThat(change.previousColumns()).containsExactly("id", "total_amount");
				assertThat(change.changedColumns()).containsExactly("total_amount");
				assertThat(change.hasChanged("total_amount")).isTrue();
				assertThat(change.hasChanged("paid_at")).isFalse();
				assertThat(change.isUnavailable("document")).isTrue();
				assertThat(change.refetchedColumns()).containsExactly("note");
				assertThat(change.leaves()).isFalse();
				assertThat(change.movedFrom()).isNull();
				assertThat(change.origin()).isEqualTo(
						new TableChange.Origin(Instant.parse("2026-01-31T12:00:00.5Z"), 4294967297L, "0/16B3748", 3));
			});
		}
	}

	@Test
	void tellsWhatIsNotKnownFromWhatIsNot() throws Exception {
		try (ListenerContext context = ListenerContext.of(Single.class)) {
			String delete = """
					{"table": "public.orders", "key": {"id": 7}, "previous": {"id": 7}, "movedTo": {"id": 8},
					"committedAt": "2026-01-31T12:00:00Z", "xid": "1", "lsn": "0/1", "ordinal": 1}""";
			context.registry().deliver("orders", List.of(change(context, "delete", delete, "leaves")));
			TableChange<?> change = (TableChange<?>) context.bean(Single.class).values.get(0);
			assertThat(change.record()).isNull();
			assertThat(change.previousColumns()).containsExactly("id");
			assertThat(change.changedColumns()).isNull();
			assertThat(change.movedTo()).isEqualTo(Map.of("id", 8));
			assertThat(change.leaves()).isTrue();
		}
	}

	@Test
	void readsRowsAsMapsAndAsJson() throws Exception {
		try (ListenerContext context = ListenerContext.of(Loose.class)) {
			context.registry().deliver("maps", List.of(change(context, "update", UPDATE, "in")));
			context.registry().deliver("nodes", List.of(change(context, "update", UPDATE, "in")));
			assertThat(context.bean(Loose.class).values.get(0))
				.asInstanceOf(org.assertj.core.api.InstanceOfAssertFactories.MAP)
				.containsEntry("total_amount", new BigDecimal("12345678901234567890.50"))
				.containsEntry("paid_at", null);
			assertThat(context.bean(Loose.class).values.get(1)).isInstanceOf(JsonNode.class);
		}
	}

	@Test
	void doesNotHandleAChangeOnWhichTheFilterFailed() {
		try (ListenerContext context = ListenerContext.of(Single.class)) {
			assertThatExceptionOfType(UnreadableEventException.class)
				.isThrownBy(() -> context.registry()
					.deliver("orders", List.of(change(context, "update", UPDATE, "error: division by zero"))))
				.withMessageContaining("the filter failed on it: division by zero");
		}
	}

	@Test
	void choosesTheMethodOfAClassByTheTypeOfTheTable() throws Exception {
		try (ListenerContext context = ListenerContext.of(Several.class)) {
			context.registry().deliver("shop", List.of(change(context, "table:public.orders", "insert", "{}", "in")));
			context.registry().deliver("shop", List.of(change(context, "table:stock.Items", "insert", "{}", "in")));
			context.registry().deliver("shop", List.of(change(context, "table:public.notes", "insert", "{}", "in")));
			assertThat(context.bean(Several.class).values).containsExactly("order", "item", "other");
		}
	}

	@Test
	void takesTheTablesOfTheConfiguration() {
		ListenedTable table = ListenedTable.of("archive.orders").filter("total > 10");
		try (ListenerContext context = ListenerContext.with((application) -> {
			application.registerBean(ConfiguredTables.class,
					() -> new ConfiguredTables(Map.of("orders", List.of(table))));
			application.register(Single.class);
		})) {
			assertThat(context.registry().endpoint("orders").tables()).containsExactly(table);
		}
	}

	@Test
	void refusesAMethodThatTakesRows() {
		assertRefused(TakesRows.class, "TakesRows.on(Order) takes " + Order.class.getName(),
				"Take a TableChange<Order>");
	}

	@Test
	void refusesAListenerWithoutTables() {
		assertRefused(WithoutTables.class, "WithoutTables.on(TableChange) names no table",
				"pgbus.table-listeners.orders.tables[0].name=orders");
	}

	@Test
	void refusesATableThatNoMethodIsFor() {
		assertRefused(WithoutMethod.class, "WithoutMethod has no method for the table \"items\"",
				"the attribute \"type\"");
	}

	private static Event<Object> change(ListenerContext context, String type, String payload, String outcome) {
		return change(context, "table:public.orders", type, payload, outcome);
	}

	private static Event<Object> change(ListenerContext context, String stream, String type, String payload,
			String outcome) {
		Event<Object> event = context.registry()
			.event(type, payload.startsWith("{}") ? UPDATE : payload, Map.of("pgbus-outcome", outcome));
		return new Event<>(event.id(), stream, 0, event.type(), event.key(), event.payload(), event.headers(),
				event.publishedAt(), 1);
	}

	record Order(long id, BigDecimal totalAmount, Instant paidAt) {

	}

	record Item(long id) {

	}

	static class Everything extends ListenerContext.Received {

		@PgTableListener(id = "everything", group = "orders",
				tables = {
						@PgTable(name = "orders", filter = "processed_at is not null", columns = { "status", "total" }),
						@PgTable(name = "shop.\"Items\"", operations = TableOperation.TRUNCATE) },
				operations = { TableOperation.INSERT, TableOperation.DELETE }, concurrency = "10",
				delivery = "${delivery}", batch = "true", autoStartup = "false", attempts = "2",
				backOff = @BackOff(delay = "3s"))
		void on(List<TableChange<Order>> changes) {
			add(changes);
		}

	}

	static class Single extends ListenerContext.Received {

		@PgTableListener(group = "orders", tables = @PgTable(name = "orders"))
		void on(TableChange<Order> change) {
			add(change);
		}

	}

	static class Loose extends ListenerContext.Received {

		@PgTableListener(group = "maps", tables = @PgTable(name = "orders"))
		void map(TableChange<Map<String, Object>> change) {
			add(change.record());
		}

		@PgTableListener(group = "nodes", tables = @PgTable(name = "orders"))
		void node(Event<TableChange<?>> event) {
			add(event.payload().record());
		}

	}

	@PgTableListener(group = "shop", tables = { @PgTable(name = "orders", type = Order.class),
			@PgTable(name = "stock.\"Items\"", type = Item.class), @PgTable(name = "notes") })
	static class Several extends ListenerContext.Received {

		@PgEventHandler
		void order(TableChange<Order> change) {
			add("order");
		}

		@PgEventHandler
		void item(TableChange<Item> change) {
			add("item");
		}

		@PgEventHandler(isDefault = true)
		void other(TableChange<?> change) {
			add("other");
		}

	}

	static class TakesRows {

		@PgTableListener(group = "orders", tables = @PgTable(name = "orders"))
		void on(Order order) {
		}

	}

	static class WithoutTables {

		@PgTableListener(group = "orders")
		void on(TableChange<Order> change) {
		}

	}

	@PgTableListener(group = "shop",
			tables = { @PgTable(name = "orders", type = Order.class), @PgTable(name = "items", type = Item.class) })
	static class WithoutMethod {

		@PgEventHandler
		void order(TableChange<Order> change) {
		}

	}

}
