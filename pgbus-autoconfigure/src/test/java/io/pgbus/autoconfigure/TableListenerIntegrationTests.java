package io.pgbus.autoconfigure;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Predicate;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.PgBusException;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.replication.Capture;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tables that an application listens to, from the annotation to the handler.
 */
class TableListenerIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = this.database.jdbc();

	private final String slot = "test_" + UUID.randomUUID().toString().replace("-", "");

	TableListenerIntegrationTests() {
		this.jdbc.sql("""
				create table orders (
					id bigint primary key, status text not null, total_amount numeric(10, 2), processed_at timestamptz
				)""").update();
	}

	@AfterEach
	void close() {
		this.database.dropSlot(this.slot);
		this.database.close();
	}

	@Test
	void aListenerReceivesTheChangesThatItsFilterLetsThrough() {
		application().withBean(Orders.class).run((context) -> {
			awaitCapture(context);
			Orders orders = context.getBean(Orders.class);
			this.jdbc.sql("insert into orders values (1, 'new', 9.5, null)").update();
			this.jdbc.sql("insert into orders values (2, 'paid', 19.9, now())").update();
			this.jdbc.sql("update orders set status = 'paid', processed_at = now() where id = 1").update();
			this.jdbc.sql("delete from orders where id = 2").update();
			await().untilAsserted(() -> assertThat(orders.changes).extracting(TableChange::operation)
				.containsExactlyInAnyOrder(TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE));
			TableChange<Order> insert = orders.find((change) -> change.operation() == TableOperation.INSERT);
			assertThat(insert.record()).isEqualTo(new Order(2, "paid", new BigDecimal("19.90")));
			assertThat(insert.table()).isEqualTo("public.orders");
			assertThat(insert.key()).isEqualTo(Map.of("id", 2));
			assertThat(insert.origin()).isNotNull();
			TableChange<Order> update = orders.find((change) -> change.operation() == TableOperation.UPDATE);
			assertThat(update.record()).isEqualTo(new Order(1, "paid", new BigDecimal("9.50")));
			TableChange<Order> delete = orders.find((change) -> change.operation() == TableOperation.DELETE);
			assertThat(delete.record()).isNull();
			assertThat(delete.previousColumns()).containsExactly("id");
		});
	}

	@Test
	void aChangeThatNoGroupWantsIsNotStored() {
		application().withBean(Orders.class).run((context) -> {
			awaitCapture(context);
			this.jdbc.sql("insert into orders values (1, 'new', 9.5, null), (2, 'paid', 1, now())").update();
			Orders orders = context.getBean(Orders.class);
			await().untilAsserted(() -> assertThat(orders.changes).hasSize(1));
			assertThat(this.jdbc.sql("select count(*) from pgbus.event").query(Long.class).single()).isOne();
		});
	}

	@Test
	void changesMadeWhileNoInstanceRunsArriveAtTheNextStart() {
		application().withBean(Orders.class).run(this::awaitCapture);
		this.jdbc.sql("insert into orders values (1, 'paid', 9.5, now())").update();
		application().withBean(Orders.class).run((context) -> {
			Orders orders = context.getBean(Orders.class);
			await().untilAsserted(() -> assertThat(orders.changes).hasSize(1));
		});
	}

	@Test
	void tablesMayComeFromTheConfiguration() {
		application().withBean(Unnamed.class)
			.withPropertyValues("pgbus.table-listeners.search.tables[0].name=public.orders",
					"pgbus.table-listeners.search.tables[0].filter=orders.total_amount > 5",
					"pgbus.table-listeners.search.tables[0].operations=insert")
			.run((context) -> {
				awaitCapture(context);
				this.jdbc.sql("insert into orders values (1, 'new', 1, null), (2, 'new', 9, null)").update();
				Unnamed listener = context.getBean(Unnamed.class);
				await().untilAsserted(() -> assertThat(listener.changes).hasSize(1));
				assertThat(listener.changes.peek()).extracting(TableChange::key).isEqualTo(Map.of("id", 2));
			});
	}

	@Test
	void aTableWithoutPrimaryKeyIsRefusedAtStartUpAndItsWritersGoOn() {
		this.jdbc.sql("create table notes (text text)").update();
		application().withBean(Unnamed.class)
			.withPropertyValues("pgbus.table-listeners.search.tables[0].name=notes")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("notes")
				.hasMessageContaining("replica identity"));
		this.jdbc.sql("insert into notes values ('a')").update();
		assertThat(this.jdbc.sql("update notes set text = 'b'").update()).isOne();
		assertThat(this.jdbc.sql("delete from notes").update()).isOne();
	}

	@Test
	void aFilterThatPostgresDoesNotTakeIsRefusedAtStartUpAndNothingIsPublished() {
		application().withBean(Unnamed.class)
			.withPropertyValues("pgbus.table-listeners.search.tables[0].name=orders",
					"pgbus.table-listeners.search.tables[0].filter=missing > 1")
			.run((context) -> assertThat(context).getFailure()
				.hasStackTraceContaining("missing > 1")
				.hasStackTraceContaining("orders"));
		assertThat(this.jdbc.sql("select count(*) from pg_publication_rel").query(Long.class).single()).isZero();
	}

	@Test
	void aGroupThatIsDeletedTakesItsTableOutOfThePublication() {
		application().withBean(Orders.class).run((context) -> {
			awaitCapture(context);
			assertThat(published()).containsExactly("orders");
			context.getBean(PgListenerContainerRegistry.class).unregister("fulfilment");
			context.getBean(ConsumerGroupOperations.class).deleteGroup("fulfilment");
			await().untilAsserted(() -> assertThat(published()).isEmpty());
		});
	}

	@Test
	void aServerThatDoesNotKeepWhatIsNeededIsRefusedAtStartUp() {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of("wal_level", "replica"))) {
			TestDatabase other = server.createDatabase();
			other.jdbc().sql("create table orders (id bigint primary key, processed_at timestamptz)").update();
			BusApplication.on(other)
				.withBean(Orders.class)
				.run((context) -> assertThat(context).getFailure()
					.rootCause()
					.isInstanceOf(PgBusException.class)
					.hasMessageContaining("alter system set wal_level = logical"));
			assertThat(other.jdbc().sql("select count(*) from pg_publication").query(Long.class).single()).isZero();
		}
	}

	@Test
	void aRoleWithTheDocumentedRightsListensToItsTable() throws IOException {
		BusApplication.on(this.database).run((context) -> assertThat(context).hasNotFailed());
		String role = "role_" + this.slot;
		this.jdbc.sql("create role " + role + " login password 'secret'").update();
		this.jdbc.sql("grant create on database " + this.database.name() + " to " + role).update();
		this.jdbc.sql("alter table orders owner to " + role).update();
		run(new ClassPathResource("io/pgbus/store/grants.sql").getContentAsString(StandardCharsets.UTF_8)
			.replace(":\"schema\"", "pgbus")
			.replace(":\"role\"", role));
		ApplicationContextRunner application = application().withBean(Orders.class)
			.withPropertyValues("pgbus.schema.initialize=never", "spring.datasource.username=" + role,
					"spring.datasource.password=secret");
		application
			.run((context) -> assertThat(context).getFailure().hasStackTraceContaining("alter role ... replication"));
		this.jdbc.sql("alter role " + role + " replication").update();
		application.run((context) -> {
			awaitCapture(context);
			this.jdbc.sql("insert into orders values (1, 'paid', 9.5, now())").update();
			Orders orders = context.getBean(Orders.class);
			await().untilAsserted(() -> assertThat(orders.changes).hasSize(1));
			await().untilAsserted(
					() -> assertThat(this.jdbc.sql("select count(*) from pgbus.event").query(Long.class).single())
						.isZero());
		});
		this.jdbc.sql("drop owned by " + role + " cascade").update();
		this.jdbc.sql("drop role " + role).update();
	}

	private void run(String script) {
		try (Connection connection = this.database.connect(); Statement statement = connection.createStatement()) {
			statement.execute(script);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private List<String> published() {
		return this.jdbc.sql("select tablename from pg_publication_tables").query(String.class).list();
	}

	private ApplicationContextRunner application() {
		return BusApplication.on(this.database)
			.withPropertyValues("pgbus.capture.slot=" + this.slot, "pgbus.capture.standby-interval=200ms",
					"pgbus.capture.trim-interval=500ms");
	}

	private void awaitCapture(ApplicationContext context) {
		await().untilAsserted(() -> assertThat(context.getBean(Capture.class).status().isLeader()).isTrue());
	}

	record Order(long id, String status, BigDecimal totalAmount) {

	}

	static class Orders {

		final Queue<TableChange<Order>> changes = new ConcurrentLinkedQueue<>();

		@PgTableListener(group = "fulfilment", tables = @PgTable(name = "orders", filter = "processed_at is not null"),
				operations = { TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE })
		void on(TableChange<Order> change) {
			this.changes.add(change);
		}

		TableChange<Order> find(Predicate<TableChange<Order>> condition) {
			return this.changes.stream().filter(condition).findFirst().orElseThrow();
		}

	}

	static class Unnamed {

		final Queue<TableChange<Map<String, Object>>> changes = new ConcurrentLinkedQueue<>();

		@PgTableListener(group = "search")
		void on(TableChange<Map<String, Object>> change) {
			this.changes.add(change);
		}

	}

}
