package io.pgbus.actuate;

import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;

import io.micrometer.core.instrument.MeterRegistry;
import io.pgbus.ConsumerGroupOperations;
import io.pgbus.GroupInfo;
import io.pgbus.ListenedTable;
import io.pgbus.StartPosition;
import io.pgbus.StreamInfo;
import io.pgbus.TableChange;
import io.pgbus.actuate.OperatedApplication.Answer;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.replication.Capture;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.IdleStore;
import io.pgbus.test.PgBusTester;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

/**
 * What an operator sees of, and does to, groups that listen to tables where the bus is in
 * another database than these.
 */
class OutboxOperationIntegrationTests {

	private final TestDatabase data = TestDatabase.create();

	private final TestDatabase bus = TestDatabase.create();

	private final JdbcClient jdbc = this.data.jdbc();

	private final Queue<TableChange<JsonNode>> changes = new ConcurrentLinkedQueue<>();

	private final Set<Long> broken = ConcurrentHashMap.newKeySet();

	private volatile CountDownLatch mayGoOn = new CountDownLatch(0);

	private OperatedApplication application;

	private ConsumerGroupOperations groups;

	@BeforeEach
	void listen() {
		this.application = OperatedApplication.start(this.data, "pgbus.datasource.url=" + this.bus.jdbcUrl(),
				"pgbus.datasource.username=" + this.bus.username(), "pgbus.datasource.password=" + this.bus.password(),
				"pgbus.capture.standby-interval=200ms", "pgbus.capture.heartbeat-interval=500ms",
				"pgbus.capture.trim-interval=500ms", "pgbus.metrics.gauge-interval=1ms");
		this.groups = this.application.getBean(ConsumerGroupOperations.class);
		this.jdbc.sql("create table notes (id bigint primary key, text text)").update();
		this.application.registry.register(PgListenerEndpoint.id("take-notes")
			.group("notes")
			.tables(ListenedTable.of("notes"))
			.onChange(JsonNode.class, this::take));
		await().until(() -> this.application.getBean(Capture.class).status().isLeader());
	}

	private void take(TableChange<JsonNode> change) {
		try {
			this.mayGoOn.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		long id = change.requireRecord().path("id").asLong();
		if (this.broken.contains(id)) {
			throw new IllegalStateException("note " + id + " is broken");
		}
		this.changes.add(change);
	}

	@AfterEach
	void close() {
		this.mayGoOn.countDown();
		this.application.close();
		await().ignoreExceptions().untilAsserted(() -> this.jdbc.sql("""
				select pg_drop_replication_slot(slot_name) from pg_replication_slots
				where database = current_database()""").query().listOfRows());
		this.data.close();
		this.bus.close();
	}

	@Test
	void groupsAreShownUnderTheDatabaseThatTheyAreIn() {
		this.application.publisher.publish("orders", "k", 1);
		insert(1);
		await().until(() -> this.changes.size() == 1 && this.application.shop.billed.size() == 1);
		Answer overview = this.application.get("/pgbus");
		assertThat(overview.body().path("groups").findValuesAsString("group")).containsExactly("billing", "shipping");
		assertThat(overview.at("streams/0/stream")).isEqualTo("orders");
		assertThat(overview.at("ownDatabase/groups/0/group")).isEqualTo("notes");
		assertThat(overview.at("ownDatabase/groups/1")).isEqualTo("missing");
		assertThat(overview.at("ownDatabase/streams/0/stream")).isEqualTo("table:public.notes");
		assertThat(overview.at("ownDatabase/streams/1")).isEqualTo("missing");
		assertThat(overview.at("ownDatabase/consumers/0/listeners")).contains("take-notes (notes)");
		assertThat(overview.at("outbox/state")).isEqualTo("RUNNING");
		assertThat(overview.at("capture/state")).isEqualTo("CAPTURING");
		assertThat(overview.at("capture/slot")).startsWith("pgbus_outbox_pgbus_test_");
		assertThat(overview.at("capture/tables/0/group")).isEqualTo("notes");
		assertThat(this.application.get("/pgbus/notes").at("cursors/0/stream")).isEqualTo("table:public.notes");
		assertThat(this.application.get("/pgbus/billing").at("cursors/0/stream")).isEqualTo("orders");
		assertThat(this.application.get("/pgbus/" + OutboxRelay.GROUP).status()).isEqualTo(404);
		Answer health = this.application.get("/health/pgbus");
		assertThat(health.at("status")).isEqualTo("UP");
		assertThat(health.at("details/capture")).isEqualTo("CAPTURING");
		assertThat(health.at("details/listeners/take-notes")).isEqualTo("RUNNING");
	}

	@Test
	void commandsAreForGroupsOfBothLogs() {
		this.application.publisher.publish("orders", "k", 1);
		insert(1);
		await().until(() -> this.changes.size() == 1 && this.application.shop.billed.size() == 1);
		assertThat(this.groups.groups()).extracting(GroupInfo::name).containsExactly("billing", "notes", "shipping");
		assertThat(this.groups.streams()).extracting(StreamInfo::name).containsExactly("orders", "table:public.notes");
		assertThat(this.groups.history("orders", 10)).hasSize(1);
		this.groups.createGroup("pulled", List.of("table:public.notes"), StartPosition.latest());
		insert(2);
		await().untilAsserted(() -> assertThat(this.groups.history("table:public.notes", 10)).isNotEmpty());
		assertThatIllegalArgumentException().isThrownBy(
				() -> this.groups.createGroup("mixed", List.of("table:public.notes", "orders"), StartPosition.latest()))
			.withMessageContaining("table:public.notes");
		assertThat(this.application.get("/pgbus/pulled").status()).isEqualTo(200);
		this.groups.deleteGroup("pulled");
		assertThat(this.application.get("/pgbus/pulled").status()).isEqualTo(404);
		// of two with one name the application's own is meant
		this.bus.jdbc().sql("insert into pgbus.consumer_group (name) values ('notes')").update();
		this.groups.pauseGroup("notes");
		assertThat(this.jdbc.sql("select paused from pgbus_outbox.consumer_group where name = 'notes'")
			.query(Boolean.class)
			.single()).isTrue();
		assertThat(
				this.bus.jdbc().sql("select bool_or(paused) from pgbus.consumer_group").query(Boolean.class).single())
			.isFalse();
		await().untilAsserted(() -> assertThat(gauge("pgbus.lag", "notes")).isNotNaN());
	}

	@Test
	void aGroupThatListensToTablesIsPausedGoesOnAndIsDeleted() {
		assertThat(this.application.post("/pgbus/notes", "{'action': 'pause'}").status()).isEqualTo(200);
		insert(1);
		await().untilAsserted(() -> assertThat(gauge("pgbus.lag", "notes")).isOne());
		assertThat(this.application.get("/pgbus").at("ownDatabase/groups/0/paused")).isEqualTo("true");
		assertThat(this.changes).isEmpty();
		assertThat(this.application.post("/pgbus/notes", "{'action': 'resume'}").status()).isEqualTo(200);
		await().until(() -> this.changes.size() == 1);
		assertThat(this.application.post("/pgbus/notes", "{'action': 'backfill', 'table': 'notes'}").status())
			.isEqualTo(200);
		await().until(() -> this.changes.size() == 2);
		assertThat(this.application.get("/pgbus/notes").at("backfills/0/rowsRead")).isEqualTo("1");
		assertThat(this.application.post("/pgbus", "{'listener': 'take-notes', 'action': 'stop'}").status())
			.isEqualTo(200);
		await().untilAsserted(() -> assertThat(this.application.delete("/pgbus/notes").status()).isEqualTo(200));
		await().untilAsserted(() -> assertThat(
				this.jdbc.sql("select tablename from pg_publication_tables").query(String.class).list())
			.isEmpty());
	}

	@Test
	void aChangeThatIsDeadIsShownRetriedAndDiscarded() {
		this.broken.addAll(Set.of(1L, 2L));
		insert(1);
		insert(2);
		insert(3);
		await().until(() -> this.changes.size() == 1);
		await().untilAsserted(() -> assertThat(gauge("pgbus.failures", "notes", "state", "dead")).isEqualTo(2));
		Answer failures = this.application.get("/pgbus/notes/failures");
		assertThat(failures.at("failures/0/errorMessage")).as(failures.text()).endsWith("is broken");
		String first = failures.body().path("failures").path(0).path("id").asString();
		String second = failures.body().path("failures").path(1).path("id").asString();
		assertThat(this.application.get("/pgbus/notes/failures/" + first).status()).isEqualTo(200);
		this.broken.clear();
		assertThat(this.application.post("/pgbus/notes/failures/" + first, "{'action': 'retry'}").status())
			.isEqualTo(200);
		await().until(() -> this.changes.size() == 2);
		assertThat(this.application.post("/pgbus/notes/failures/" + second, "{'action': 'discard'}").status())
			.isEqualTo(200);
		await().untilAsserted(
				() -> assertThat(this.application.get("/pgbus/notes/failures").at("failures")).isEqualTo("[]"));
		assertThat(this.changes).hasSize(2);
	}

	@Test
	void testsWaitForChangesThatAreCaptured() {
		this.mayGoOn = new CountDownLatch(1);
		try (PgBusTester tester = new PgBusTester(new IdleStore(this.application.getBean(BusDatabase.class)),
				new IdleStore(this.application.getBean(OutboxRelay.class).database()), this.application.registry,
				this.groups)) {
			insert(1);
			await().untilAsserted(() -> assertThat(gauge("pgbus.lag", "notes")).isOne());
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> tester.awaitHandled(Duration.ZERO))
				.withMessageContaining("notes: partition");
			this.mayGoOn.countDown();
			tester.awaitHandled();
			assertThat(this.changes).hasSize(1);
		}
	}

	@Test
	void whereThereIsNoOutboxAllIsInOnePlace() {
		try (OperatedApplication single = OperatedApplication.start(this.bus)) {
			assertThat(single.get("/pgbus").at("groups/0/group")).isEqualTo("billing");
			assertThat(single.get("/pgbus").at("ownDatabase")).isEqualTo("missing");
		}
	}

	private void insert(long id) {
		this.jdbc.sql("insert into notes values (?, 'text')").param(id).update();
	}

	private double gauge(String name, String group, String... tags) {
		var gauge = this.application.getBean(MeterRegistry.class).find(name).tag("group", group).tags(tags).gauge();
		// the look is taken when one is read
		this.application.getBean(MeterRegistry.class).get("pgbus.groups").gauge().value();
		return (gauge != null) ? gauge.value() : Double.NaN;
	}

}
