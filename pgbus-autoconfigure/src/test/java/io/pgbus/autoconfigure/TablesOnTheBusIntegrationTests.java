package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;

import io.pgbus.EventPublisher;
import io.pgbus.ListenedTable;
import io.pgbus.PgBusException;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.TablePublisher;
import io.pgbus.store.GroupStatus;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.OwnServer.StopMode;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static io.pgbus.autoconfigure.OutboxBed.awaitCapture;
import static io.pgbus.autoconfigure.OutboxBed.count;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

/**
 * Changes of tables that are put on a bus in another database.
 */
class TablesOnTheBusIntegrationTests {

	private static final String STREAM = "pgbus.outbox.streams.orders.tables[0].name=orders";

	private final OutboxBed bed = new OutboxBed();

	private final TestDatabase shop = this.bed.shop;

	private final TestDatabase stock = this.bed.stock;

	private final TestDatabase bus = this.bed.bus;

	@AfterEach
	void close() {
		this.bed.close();
	}

	@Test
	void changesOfATableCanBePutOnTheBusForOtherApplications() {
		this.bed.application(this.shop)
			.withPropertyValues(STREAM, "pgbus.outbox.streams.orders.tables[0].filter=status <> 'secret'",
					"pgbus.outbox.streams.orders.tables[0].operations=insert,update,delete")
			.run((publishing) -> this.bed.application(this.stock).withBean(OrdersElsewhere.class).run((listening) -> {
				awaitCapture(publishing);
				this.shop.jdbc().sql("insert into orders values (1, 'new'), (2, 'secret'), (3, 'new')").update();
				this.shop.jdbc().sql("update orders set status = 'paid' where id = 1").update();
				this.shop.jdbc().sql("delete from orders where id = 1").update();
				OrdersElsewhere orders = listening.getBean(OrdersElsewhere.class);
				await().untilAsserted(() -> assertThat(orders.changes).hasSize(4));
				assertThat(orders.changes).filteredOn((change) -> change.key().equals(Map.of("id", 1)))
					.extracting(TableChange::operation, TableChange::table, TableChange::record)
					.containsExactly(tuple(TableOperation.INSERT, "public.orders", new Order(1, "new")),
							tuple(TableOperation.UPDATE, "public.orders", new Order(1, "paid")),
							tuple(TableOperation.DELETE, "public.orders", null));
				assertThat(orders.changes).allSatisfy((change) -> assertThat(change.origin()).isNotNull());
				await().untilAsserted(() -> assertThat(orders.maps).hasSize(4));
				assertThat(orders.maps).extracting((map) -> map.get("table")).containsOnly("public.orders");
				await().untilAsserted(() -> assertThat(count(this.shop, "pgbus_outbox.event")).isZero());
			}));
	}

	@Test
	void eachChangeIsOnTheBusOnceInTheOrderOfItsKeyThoughApplicationAndRelayStopInBetween() {
		ApplicationContextRunner publishing = this.bed.application(this.shop)
			.withPropertyValues(STREAM, "pgbus.outbox.batch-size=20");
		this.shop.jdbc().sql("insert into orders select g, '0' from generate_series(1, 20) g").update();
		int rounds = 12;
		publishing.run(OutboxBed::awaitCapture);
		for (int round = 1; round <= rounds; round++) {
			int current = round;
			publishing.run((context) -> {
				this.shop.jdbc().sql("update orders set status = ?").param(String.valueOf(current)).update();
				OutboxRelay relay = context.getBean(OutboxRelay.class);
				if (current % 3 == 0) {
					// the listener goes on without it
					relay.stop();
					awaitCapture(context);
					await().untilAsserted(
							() -> assertThat(count(this.shop, "pgbus_outbox.event e join pgbus_outbox.stream s "
									+ "on s.id = e.stream_id and s.name = 'orders'"))
								.isPositive());
				}
				else if (current % 3 == 1) {
					await().untilAsserted(() -> assertThat(count(this.bus, "pgbus.event")).isPositive());
				}
			});
		}
		publishing.run((context) -> await()
			.untilAsserted(() -> assertThat(count(this.bus, "pgbus.event")).isGreaterThanOrEqualTo(20 * rounds)));
		assertThat(this.bus.jdbc().sql("""
				select key, string_agg(payload -> 'record' ->> 'status', ' ' order by id) as statuses
				from pgbus.event group by key""").query().listOfRows()).hasSize(20)
			.allSatisfy((row) -> assertThat(row).containsEntry("statuses",
					String.join(" ", IntStream.rangeClosed(1, rounds).mapToObj(String::valueOf).toList())));
	}

	@Test
	void aChangeThatTheFilterFailsOnIsDeadAndTheOthersAreOnTheBus() {
		this.bed.application(this.shop)
			.withPropertyValues(STREAM, "pgbus.outbox.streams.orders.tables[0].filter=1 / (id - 2) > -5")
			.run((context) -> {
				awaitCapture(context);
				this.shop.jdbc().sql("insert into orders select g, 'new' from generate_series(1, 3) g").update();
				await().untilAsserted(() -> assertThat(count(this.bus, "pgbus.event")).isEqualTo(2));
				await().untilAsserted(() -> assertThat(this.shop.jdbc()
					.sql("select error_message from pgbus_outbox.failed_event where state = 'dead'")
					.query(String.class)
					.list()).singleElement().asString().contains("division by zero"));
			});
	}

	@Test
	void withoutAnOutboxThereIsNothingThatCouldPutChangesOnTheBus() {
		BusApplication.on(this.shop)
			.withPropertyValues(STREAM)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("pgbus.outbox.streams"));
	}

	@Test
	void aTableOfAStreamOnTheBusMustHaveAName() {
		this.bed.application(this.shop)
			.withPropertyValues("pgbus.outbox.streams.orders.tables[0].filter=true")
			.run((context) -> assertThat(context).getFailure()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("pgbus.outbox.streams.orders.tables"));
	}

	@Test
	void aStreamOnTheBusCannotBeCalledAsThatOfATable() {
		this.bed.application(this.shop)
			.run((context) -> assertThatIllegalArgumentException()
				.isThrownBy(() -> context.getBean(TablePublisher.class)
					.endpoint("table:public.orders", List.of(ListenedTable.of("orders"))))
				.withMessageContaining("captured from a table"));
	}

	@Test
	void whatChangesWhileTheBusIsDownIsOnItAfterwards() {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of())) {
			TestDatabase other = server.createDatabase();
			OutboxBed.on(this.shop, other)
				.withPropertyValues("pgbus.datasource.hikari.connection-timeout=1000",
						"pgbus.datasource.hikari.validation-timeout=500", STREAM)
				.run((context) -> {
					awaitCapture(context);
					server.stop(StopMode.IMMEDIATE);
					this.shop.jdbc().sql("insert into orders select g, 'new' from generate_series(1, 50) g").update();
					await().untilAsserted(() -> assertThat(context.getBean(OutboxRelay.class).status()).isNotNull()
						.extracting(GroupStatus::estimatedLag)
						.isEqualTo(50L));
					server.start();
					await().atMost(Duration.ofMinutes(1))
						.ignoreExceptions()
						.untilAsserted(() -> assertThat(count(other, "pgbus.event")).isEqualTo(50));
				});
		}
	}

	@Test
	void rowsThatAreThereAlreadyCanBePutOnTheBusToo() {
		this.shop.jdbc().sql("insert into orders select g, 'old' from generate_series(1, 30) g").update();
		this.bed.application(this.shop)
			.withPropertyValues(STREAM, "pgbus.outbox.streams.orders.tables[0].backfill=select * from orders",
					"pgbus.backfill.chunk-rows=10")
			.run((publishing) -> this.bed.application(this.stock).withBean(OrdersElsewhere.class).run((listening) -> {
				OrdersElsewhere orders = listening.getBean(OrdersElsewhere.class);
				await().untilAsserted(() -> assertThat(orders.changes).hasSize(30));
				this.shop.jdbc().sql("update orders set status = 'new' where id = 7").update();
				await().untilAsserted(() -> assertThat(orders.changes).hasSize(31));
				assertThat(orders.changes).filteredOn((change) -> change.key().equals(Map.of("id", 7)))
					.extracting(TableChange::operation, TableChange::record)
					.containsExactly(tuple(TableOperation.READ, new Order(7, "old")),
							tuple(TableOperation.UPDATE, new Order(7, "new")));
			}));
	}

	@Test
	void applicationsCanPutTablesOfTheSameNameOnOneStream() {
		this.bed.application(this.shop)
			.withPropertyValues(STREAM)
			.run((first) -> this.bed.application(this.stock)
				.withBean(OrdersElsewhere.class)
				.withPropertyValues(STREAM)
				.run((second) -> {
					awaitCapture(first);
					awaitCapture(second);
					this.shop.jdbc().sql("insert into orders values (1, 'in the shop')").update();
					this.stock.jdbc().sql("insert into orders values (1, 'in stock'), (2, 'in stock')").update();
					OrdersElsewhere orders = second.getBean(OrdersElsewhere.class);
					await().untilAsserted(() -> assertThat(orders.changes).extracting(TableChange::record)
						.containsExactlyInAnyOrder(new Order(1, "in the shop"), new Order(1, "in stock"),
								new Order(2, "in stock")));
				}));
	}

	@Test
	void otherEventsOfTheStreamAreDeadAtOnceForAListenerThatTakesChanges() {
		this.bed.application(this.stock).withBean(OrdersElsewhere.class).run((context) -> {
			context.getBean(EventPublisher.class).publish("orders", "k", Map.of("no", "change"));
			await().untilAsserted(() -> assertThat(context.getBean(OrdersElsewhere.class).maps).hasSize(1));
			await().untilAsserted(() -> assertThat(this.bus.jdbc()
				.sql("select error_message from pgbus.failed_event where state = 'dead'")
				.query(String.class)
				.list()).singleElement().asString().contains("is no change of a table"));
		});
	}

	record Order(long id, String status) {

	}

	static class OrdersElsewhere {

		final Queue<TableChange<Order>> changes = new ConcurrentLinkedQueue<>();

		final Queue<Map<String, Object>> maps = new ConcurrentLinkedQueue<>();

		@PgEventListener(group = "changes", streams = "orders", start = "earliest")
		void on(TableChange<Order> change) {
			this.changes.add(change);
		}

		@PgEventListener(group = "maps", streams = "orders", start = "earliest")
		void on(Map<String, Object> change) {
			this.maps.add(change);
		}

	}

}
