package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.pgbus.BackfillInfo;
import io.pgbus.BackfillOperations;
import io.pgbus.BackfillRequest;
import io.pgbus.ConsumerGroupOperations;
import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.EventPublisher;
import io.pgbus.ListenedTable;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.actuate.Overview;
import io.pgbus.actuate.PgBusEndpoint;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import io.pgbus.listener.ListenerDefaults;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerContainer;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.replication.Capture;
import io.pgbus.replication.CaptureSettings;
import io.pgbus.replication.CaptureStatus;
import io.pgbus.store.GroupStatus;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.OwnServer.StopMode;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.jdbc.core.simple.JdbcClient;

import static io.pgbus.autoconfigure.OutboxBed.awaitCapture;
import static io.pgbus.autoconfigure.OutboxBed.count;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

/**
 * Listeners of tables in the application's database whose bus is in another one.
 */
class OutboxTablesIntegrationTests {

	private static final RetryPolicy FAST = new RetryPolicy(5, Duration.ofMillis(1), 1, Duration.ofMillis(1), 0,
			Set.of(), RetryPolicy.OnDead.CONTINUE);

	private final OutboxBed bed = new OutboxBed();

	private final TestDatabase shop = this.bed.shop;

	private final TestDatabase stock = this.bed.stock;

	private final TestDatabase bus = this.bed.bus;

	@AfterEach
	void close() {
		this.bed.close();
	}

	@Test
	void changesOfTheApplicationsTablesArriveAndStayInItsDatabase() {
		this.bed.application(this.shop).withBean(Orders.class).run((context) -> {
			awaitCapture(context);
			this.shop.jdbc().sql("insert into orders values (1, 'new'), (2, 'paid')").update();
			this.shop.jdbc().sql("update orders set status = 'paid' where id = 1").update();
			this.shop.jdbc().sql("delete from orders where id = 2").update();
			context.getBean(EventPublisher.class).publish("notes", "k", "carried meanwhile");
			Orders orders = context.getBean(Orders.class);
			await().untilAsserted(() -> assertThat(orders.changes).extracting(TableChange::operation)
				.containsExactlyInAnyOrder(TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE));
			assertThat(orders.changes).filteredOn((change) -> change.operation() == TableOperation.INSERT)
				.extracting(TableChange::record)
				.containsExactly(new Order(2, "paid"));
			await().untilAsserted(() -> assertThat(count(this.bus, "pgbus.event")).isOne());
			assertThat(this.bus.jdbc().sql("select name from pgbus.stream").query(String.class).list())
				.containsExactly("notes");
			assertThat(this.bus.jdbc().sql("select name from pgbus.consumer_group").query(String.class).list())
				.isEmpty();
			// what has been handled goes
			await().untilAsserted(() -> assertThat(count(this.shop, "pgbus_outbox.event")).isZero());
			assertThat(this.shop.jdbc().sql("""
					select s.name from pgbus_outbox.cursor c
					join pgbus_outbox.stream s on s.id = c.stream_id
					join pgbus_outbox.consumer_group g on g.id = c.group_id
					where g.name = ?""").param(OutboxRelay.GROUP).query(String.class).set()).containsExactly("notes");
		});
	}

	@Test
	void changesAreKeptForTheirGroupHoweverOftenTheRelayLooks() {
		this.bed.application(this.shop).withBean(Orders.class).run((context) -> {
			awaitCapture(context);
			context.getBean(PgListenerContainerRegistry.class).find("fulfilment").stop();
			this.shop.jdbc().sql("insert into orders values (1, 'paid')").update();
			await().untilAsserted(() -> assertThat(count(this.shop, "pgbus_outbox.event")).isOne());
			EventPublisher publisher = context.getBean(EventPublisher.class);
			for (int number = 0; number < 5; number++) {
				int carried = number + 1;
				publisher.publish("notes-" + number, "k", "carried");
				await().untilAsserted(() -> assertThat(count(this.bus, "pgbus.event")).isEqualTo(carried));
			}
			await().untilAsserted(() -> assertThat(count(this.shop, "pgbus_outbox.event")).isOne());
			context.getBean(PgListenerContainerRegistry.class).find("fulfilment").start();
			await().untilAsserted(() -> assertThat(context.getBean(Orders.class).changes).hasSize(1));
		});
	}

	@Test
	void effectsOfAHandlerThatFailsAreRolledBackAndInTheEndMadeOnce() {
		// rows may take the place of those that were rolled back
		this.shop.jdbc()
			.sql("create table effect (ordinal bigint generated always as identity, id bigint, status text)")
			.update();
		this.bed.application(this.shop).withPropertyValues("pgbus.listener.events-per-transaction=7").run((context) -> {
			assertThat(context.getBean(ListenerDefaults.class).delivery()).isEqualTo(DeliveryMode.EXACTLY_ONCE);
			JdbcClient jdbc = context.getBean(JdbcClient.class);
			EventPublisher publisher = context.getBean(EventPublisher.class);
			PgListenerContainerRegistry registry = context.getBean(PgListenerContainerRegistry.class);
			Queue<Object> published = new ConcurrentLinkedQueue<>();
			registry.register(PgListenerEndpoint.id("audit")
				.streams("audit")
				.start(StartPosition.earliest())
				.onEvent(String.class, (event) -> published.add(event.payload())));
			registry.register(PgListenerEndpoint.id("effects")
				.tables(ListenedTable.of("orders"))
				.concurrency(2)
				.retry(FAST)
				.handler(String.class, (events) -> {
					Event<Object> event = events.get(0);
					jdbc.sql(
							"insert into effect (id, status) select id, status from jsonb_to_record(?::jsonb -> 'record') "
									+ "as r(id bigint, status text)")
						.param(event.payload())
						.update();
					publisher.publish("audit", event.key(), event.key());
					if (event.id() % 5 == 0 && event.attempt() < 3) {
						throw new IllegalStateException("Not yet");
					}
					return null;
				}));
			awaitCapture(context);
			this.shop.jdbc().sql("insert into orders select g, 'new' from generate_series(1, 100) g").update();
			this.shop.jdbc().sql("update orders set status = 'paid'").update();
			await().untilAsserted(() -> assertThat(published).hasSize(200));
			assertThat(this.shop.jdbc()
				.sql("select id, string_agg(status, ' ' order by ordinal) as all_of_it from effect group by id")
				.query()
				.listOfRows()).hasSize(100).allSatisfy((row) -> assertThat(row).containsEntry("all_of_it", "new paid"));
			assertThat(count(this.shop, "pgbus_outbox.failed_event")).isZero();
		});
	}

	@Test
	void backfilledRowsAndTheChangesThatJoinThemAreHandledOnce() {
		this.shop.jdbc().sql("insert into orders select g, 'old' from generate_series(1, 500) g").update();
		this.shop.jdbc().sql("create table effect (id bigint primary key, status text, times int)").update();
		this.bed.application(this.shop).withPropertyValues("pgbus.backfill.chunk-rows=50").run((context) -> {
			JdbcClient jdbc = context.getBean(JdbcClient.class);
			CountDownLatch underWay = new CountDownLatch(100);
			context.getBean(PgListenerContainerRegistry.class)
				.register(PgListenerEndpoint.id("copy")
					.tables(ListenedTable.of("orders").backfill("select * from orders"))
					.concurrency(2)
					.onChange(Order.class, (change) -> {
						underWay.countDown();
						jdbc.sql("""
								insert into effect values (?, ?, 1)
								on conflict (id) do update set status = excluded.status, times = effect.times + 1""")
							.params(change.requireRecord().id(), change.requireRecord().status())
							.update();
					}));
			assertThat(underWay.await(1, TimeUnit.MINUTES)).isTrue();
			this.shop.jdbc().sql("update orders set status = 'new' where id % 2 = 0").update();
			this.shop.jdbc().sql("insert into orders select g, 'new' from generate_series(501, 600) g").update();
			await().untilAsserted(() -> assertThat(this.shop.jdbc().sql("""
					select count(*) from orders o full join effect e using (id)
					where e.status is distinct from o.status""").query(Long.class).single()).isZero());
			// a row that was read before it changed comes a second time, and no row more
			assertThat(this.shop.jdbc()
				.sql("select count(*) from effect where times > case when id % 2 = 0 and id <= 500 then 2 else 1 end")
				.query(Long.class)
				.single()).isZero();
			BackfillOperations backfills = context.getBean(BackfillOperations.class);
			assertThat(backfills.list("copy")).extracting(BackfillInfo::state).containsExactly(BackfillInfo.State.DONE);
			BackfillInfo replay = backfills.start("copy", BackfillRequest.of("orders").keys(List.of(7, 8)));
			await().untilAsserted(() -> assertThat(backfills.find(replay.id())).get()
				.extracting(BackfillInfo::state, BackfillInfo::rowsRead)
				.containsExactly(BackfillInfo.State.DONE, 2L));
		});
	}

	@Test
	void tableListenersGoOnAndAreOperatedWhileTheBusIsDown() {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of())) {
			OutboxBed.on(this.shop, server.createDatabase())
				.withConfiguration(AutoConfigurations.of(PgBusEndpointAutoConfiguration.class))
				.withPropertyValues("management.endpoints.web.exposure.include=pgbus",
						"pgbus.datasource.hikari.connection-timeout=1000",
						"pgbus.datasource.hikari.validation-timeout=500")
				.withBean(Orders.class)
				.run((context) -> {
					awaitCapture(context);
					Orders orders = context.getBean(Orders.class);
					ConsumerGroupOperations groups = context.getBean(ConsumerGroupOperations.class);
					this.shop.jdbc().sql("insert into orders values (1, 'paid')").update();
					await().untilAsserted(() -> assertThat(orders.changes).hasSize(1));
					server.stop(StopMode.IMMEDIATE);
					this.shop.jdbc().sql("insert into orders select g, 'paid' from generate_series(2, 50) g").update();
					await().untilAsserted(() -> assertThat(orders.changes).hasSize(50));
					assertThat(context.getBean(PgListenerContainerRegistry.class).find("fulfilment").state())
						.isEqualTo(PgListenerContainer.State.RUNNING);
					groups.pauseGroup("fulfilment");
					Overview overview = context.getBean(PgBusEndpoint.class).overview();
					assertThat(overview.outbox().busFailure()).isNotNull();
					assertThat(overview.capture().state()).isEqualTo(CaptureStatus.State.CAPTURING);
					assertThat(overview.ownDatabase().groups()).singleElement()
						.extracting(GroupStatus::group, GroupStatus::paused)
						.containsExactly("fulfilment", true);
					this.shop.jdbc().sql("insert into orders values (51, 'paid')").update();
					groups.resumeGroup("fulfilment");
					await().untilAsserted(() -> assertThat(orders.changes).hasSize(51));
				});
		}
	}

	@Test
	void applicationsWithTablesOfTheSameNameDoNotMeet() {
		this.bed.application(this.shop)
			.withBean(Orders.class)
			.run((first) -> this.bed.application(this.stock).withBean(Orders.class).run((second) -> {
				awaitCapture(first);
				awaitCapture(second);
				this.shop.jdbc().sql("insert into orders values (1, 'paid')").update();
				this.stock.jdbc().sql("insert into orders values (1, 'paid'), (2, 'paid')").update();
				await().untilAsserted(() -> assertThat(second.getBean(Orders.class).changes).hasSize(2));
				await().untilAsserted(() -> assertThat(first.getBean(Orders.class).changes).hasSize(1));
				assertThat(first.getBean(CaptureSettings.class).slot())
					.isNotEqualTo(second.getBean(CaptureSettings.class).slot());
			}));
	}

	@Test
	void anotherInstanceIsToldOfChangesThatThisOneCaptures() {
		this.bed.application(this.shop).run((capturing) -> {
			capturing.getBean(PgListenerContainerRegistry.class)
				.register(PgListenerEndpoint.id("other")
					.tables(ListenedTable.of("orders"))
					.onChange(Object.class, (change) -> {
					}));
			awaitCapture(capturing);
			this.bed.application(this.shop)
				.withBean(Orders.class)
				.withPropertyValues("pgbus.listener.poll-interval=1h")
				.run((told) -> {
					this.shop.jdbc().sql("insert into orders values (1, 'paid')").update();
					await().untilAsserted(() -> assertThat(told.getBean(Orders.class).changes).hasSize(1));
					assertThat(told.getBean(Capture.class).status().isLeader()).isFalse();
				});
		});
	}

	@Test
	void aGroupCannotHaveTablesHereAndStreamsOnTheBus() {
		this.bed.application(this.shop)
			.withBean(Orders.class)
			.withBean(Both.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("\"fulfilment\"")
				.hasMessageContaining("another group"));
	}

	@Test
	void theGroupThatCarriesEventsIsNobodyElses() {
		this.bed.application(this.shop)
			.run((context) -> assertThatIllegalArgumentException()
				.isThrownBy(() -> context.getBean(PgListenerContainerRegistry.class)
					.register(PgListenerEndpoint.id("thief")
						.group(OutboxRelay.GROUP)
						.tables(ListenedTable.of("orders"))
						.onChange(Order.class, (change) -> {
						})))
				.withMessageContaining("\"thief\""));
	}

	record Order(long id, String status) {

	}

	static class Orders {

		final Queue<TableChange<Order>> changes = new ConcurrentLinkedQueue<>();

		@PgTableListener(group = "fulfilment", tables = @PgTable(name = "orders", filter = "status = 'paid'"),
				operations = { TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE })
		void on(TableChange<Order> change) {
			this.changes.add(change);
		}

	}

	static class Both {

		@PgEventListener(id = "other", group = "fulfilment", streams = "orders")
		void on(Event<String> event) {
		}

	}

}
