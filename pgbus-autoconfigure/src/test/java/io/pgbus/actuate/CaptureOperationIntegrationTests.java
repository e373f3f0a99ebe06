package io.pgbus.actuate;

import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;

import io.micrometer.core.instrument.MeterRegistry;
import io.pgbus.ConsumerGroupOperations;
import io.pgbus.ListenedTable;
import io.pgbus.TableChange;
import io.pgbus.actuate.OperatedApplication.Answer;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.replication.Capture;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The capture of tables as operators see it, and what they can do about it.
 */
class CaptureOperationIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	private final JdbcClient jdbc = this.database.jdbc();

	private final String slot = "test_" + UUID.randomUUID().toString().replace("-", "");

	private final Queue<TableChange<JsonNode>> changes = new ConcurrentLinkedQueue<>();

	private OperatedApplication application;

	@BeforeEach
	void listen() {
		this.application = OperatedApplication.start(this.database, "pgbus.capture.slot=" + this.slot,
				"pgbus.capture.standby-interval=200ms", "pgbus.capture.heartbeat-interval=500ms",
				"pgbus.metrics.gauge-interval=1ms");
		this.jdbc.sql("create table notes (id bigint primary key, text text)").update();
		this.application.registry.register(PgListenerEndpoint.id("notes")
			.tables(ListenedTable.of("notes").filter("id > 0"))
			.onChange(JsonNode.class, this.changes::add));
		awaitCapture();
	}

	@AfterEach
	void close() {
		this.application.close();
		this.database.jdbc().sql("""
				select pg_terminate_backend(active_pid) from pg_replication_slots
				where slot_name = ? and active_pid is not null""").param(this.slot).query().listOfRows();
		await().ignoreExceptions()
			.untilAsserted(() -> this.jdbc
				.sql("select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = ?")
				.param(this.slot)
				.query()
				.listOfRows());
		this.database.close();
	}

	@Test
	void theEndpointHealthAndMetricsShowTheCapture() {
		insert(1);
		await().untilAsserted(() -> {
			Answer overview = this.application.get("/pgbus");
			assertThat(overview.at("capture/state")).isEqualTo("CAPTURING");
			assertThat(overview.at("capture/slot")).isEqualTo(this.slot);
			assertThat(overview.at("capture/slotState")).isEqualTo("reserved");
			assertThat(overview.at("capture/holder")).startsWith("shop@");
			assertThat(overview.at("capture/position")).contains("/");
			assertThat(overview.at("capture/lagSeconds")).isEqualTo("0.0");
			assertThat(overview.at("capture/events")).isEqualTo("1");
			assertThat(overview.at("capture/tables/0/table")).isEqualTo("public.notes");
			assertThat(overview.at("capture/tables/0/group")).isEqualTo("notes");
			assertThat(overview.at("capture/tables/0/filter")).isEqualTo("id > 0");
			assertThat(overview.at("capture/gaps")).isEqualTo("[]");
		});
		assertThat(health().at("details/capture")).isEqualTo("CAPTURING");
		MeterRegistry meters = this.application.getBean(MeterRegistry.class);
		assertThat(meters.get("pgbus.capture.leader").gauge().value()).isOne();
		await().untilAsserted(() -> assertThat(meters.get("pgbus.capture.retained").gauge().value()).isPositive());
		assertThat(meters.get("pgbus.capture.events").functionCounter().count()).isOne();
	}

	@Test
	void aSlotThatIsGoneIsDownUntilAnOperatorGoesOnBehindTheGap() {
		this.application.getBean(Capture.class).close();
		dropSlot();
		insert(1);
		this.application.getBean(Capture.class).start();
		await().untilAsserted(() -> {
			Answer health = health();
			assertThat(health.status()).isEqualTo(503);
			assertThat(health.at("details/capture")).isEqualTo("GAP");
			assertThat(health.at("details/captureFailure")).contains(this.slot);
			assertThat(health.at("details/captureRemedy")).contains("resume");
		});
		assertThat(this.application.get("/pgbus").at("capture/state")).isEqualTo("GAP");
		Answer resumed = this.application.post("/pgbus", "{'capture': 'resume'}");
		assertThat(resumed.status()).isEqualTo(200);
		awaitCapture();
		assertThat(this.application.get("/pgbus").at("capture/gaps/0/reason")).contains(this.slot);
		insert(2);
		await().untilAsserted(() -> assertThat(this.changes).singleElement()
			.satisfies((change) -> assertThat(change.key()).containsEntry("id", 2)));
		assertThat(health().at("status")).isEqualTo("UP");
		assertThat(this.application.post("/pgbus", "{'capture': 'resume'}").status()).isEqualTo(409);
	}

	@Test
	void aSlotThatNobodyUsesIsReportedAndCanBeDropped() {
		assertThat(this.application.post("/pgbus", "{'capture': 'drop-slot'}").text()).contains("public.notes");
		this.application.registry.unregister("notes");
		this.application.getBean(ConsumerGroupOperations.class).deleteGroup("notes");
		this.application.getBean(Capture.class).close();
		await().untilAsserted(() -> assertThat(health().at("details/captureWarning"))
			.contains("No group listens to a table", this.slot));
		assertThat(health().at("status")).isEqualTo("UP");
		Answer dropped = this.application.post("/pgbus", "{'capture': 'drop-slot'}");
		assertThat(dropped.status()).isEqualTo(200);
		assertThat(dropped.at("slotState")).isEqualTo("missing");
		assertThat(health().at("details/captureWarning")).isEqualTo("missing");
		this.application.registry.register(PgListenerEndpoint.id("notes")
			.tables(ListenedTable.of("notes"))
			.onChange(JsonNode.class, this.changes::add));
		awaitCapture();
		insert(3);
		await().untilAsserted(() -> assertThat(this.changes).hasSize(1));
		assertThat(this.application.get("/pgbus").at("capture/gaps")).isEqualTo("[]");
	}

	@Test
	void anOperatorGivesAGroupTheRowsOfATableAgainAndSeesHowFarThatIs() {
		insert(1);
		insert(2);
		await().untilAsserted(() -> assertThat(this.changes).hasSize(2));
		Answer started = this.application.post("/pgbus/notes", "{'action': 'backfill', 'table': 'notes'}");
		assertThat(started.status()).isEqualTo(200);
		String id = started.at("id");
		await().untilAsserted(() -> {
			Answer group = this.application.get("/pgbus/notes");
			assertThat(group.at("backfills/0/id")).isEqualTo(id);
			assertThat(group.at("backfills/0/state")).isEqualTo("DONE");
			assertThat(group.at("backfills/0/rowsRead")).isEqualTo("2");
			assertThat(group.at("backfills/0/share")).isEqualTo("1.0");
		});
		assertThat(this.changes).hasSize(4);
		assertThat(this.application.post("/pgbus", "{'backfill': " + id + ", 'action': 'restart'}").status())
			.isEqualTo(200);
		await().untilAsserted(() -> assertThat(this.changes).hasSize(6));
		assertThat(this.application.post("/pgbus", "{'backfill': 999, 'action': 'pause'}").status()).isEqualTo(404);
		Answer byKeys = this.application.post("/pgbus/notes",
				"{'action': 'backfill', 'table': 'notes', 'keys': '2, 3'}");
		assertThat(byKeys.status()).as(byKeys.text()).isEqualTo(200);
		await().untilAsserted(() -> assertThat(this.changes).hasSize(7));
		assertThat(
				this.application.post("/pgbus/notes", "{'action': 'backfill', 'table': 'notes', 'keys': 'x'}").text())
			.contains("invalid input syntax", "id");
		assertThat(this.application.post("/pgbus/notes", "{'action': 'backfill', 'table': 'notes', 'keys': '[[1]]'}")
			.status()).isEqualTo(200);
		await().untilAsserted(() -> assertThat(this.changes).hasSize(8));
		assertThat(
				this.application.post("/pgbus/notes", "{'action': 'backfill', 'table': 'notes', 'keys': '[1'}").text())
			.contains("no list in JSON");
		assertThat(this.application.post("/pgbus/notes", "{'action': 'backfill'}").text()).contains("needs a table");
		assertThat(this.application.post("/pgbus/notes", "{'action': 'backfill', 'table': 'pg_class'}").status())
			.isEqualTo(400);
	}

	private void awaitCapture() {
		await().untilAsserted(() -> assertThat(this.application.getBean(Capture.class).status().isLeader()).isTrue());
	}

	private void dropSlot() {
		await().ignoreExceptions()
			.untilAsserted(
					() -> this.jdbc.sql("select pg_drop_replication_slot(?)").param(this.slot).query().listOfRows());
	}

	private void insert(int id) {
		this.jdbc.sql("insert into notes values (?, 'text')").param(id).update();
	}

	private Answer health() {
		return this.application.get("/health/pgbus");
	}

}
