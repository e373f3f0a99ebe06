package io.pgbus.autoconfigure;

import java.util.List;
import java.util.UUID;

import io.pgbus.BackfillOperations;
import io.pgbus.BackfillRequest;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import io.pgbus.replication.Capture;
import io.pgbus.replication.CaptureStatus;
import io.pgbus.testing.TestDatabase;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A table, and an application that listens to it and writes down in the database what it
 * was given. Both come to another server.
 */
final class MovedTable {

	final String slot = "test_" + UUID.randomUUID().toString().replace("-", "");

	static void create(TestDatabase database) {
		database.jdbc().sql("create table orders (id bigint primary key, status text not null)").update();
		// no primary key: rows are only ever added
		database.jdbc().sql("create table given (operation text not null, id bigint)").update();
	}

	ApplicationContextRunner application(TestDatabase database) {
		return BusApplication.on(database)
			.withBean(Orders.class)
			.withPropertyValues("pgbus.capture.slot=" + this.slot, "pgbus.capture.standby-interval=200ms",
					"pgbus.capture.heartbeat-interval=200ms", "pgbus.capture.trim-interval=500ms");
	}

	static void insert(TestDatabase database, int id) {
		database.jdbc().sql("insert into orders values (?, 'new')").param(id).update();
	}

	static List<String> given(TestDatabase database) {
		return database.jdbc()
			.sql("select concat_ws(' ', operation, id) from given order by id nulls first, operation")
			.query(String.class)
			.list();
	}

	static void awaitGiven(TestDatabase database, String... changes) {
		await().untilAsserted(() -> assertThat(given(database)).containsExactly(changes));
	}

	static void awaitState(ApplicationContext context, CaptureStatus.State state) {
		await().untilAsserted(() -> assertThat(context.getBean(Capture.class).status().state()).isEqualTo(state));
	}

	/** Reads all rows. */
	static void backfill(ApplicationContext context) {
		context.getBean(BackfillOperations.class).start("copy", BackfillRequest.of("orders").name("after the move"));
	}

	void dropSlot(TestDatabase database) {
		database.dropSlot(this.slot);
	}

	static class Orders {

		private final JdbcClient jdbc;

		Orders(JdbcClient jdbc) {
			this.jdbc = jdbc;
		}

		@PgTableListener(group = "copy", tables = @PgTable(name = "orders"),
				operations = { TableOperation.INSERT, TableOperation.UPDATE, TableOperation.READ, TableOperation.GAP })
		void on(TableChange<Order> change) {
			Order order = change.record();
			this.jdbc.sql("insert into given values (?, ?)")
				.params(change.operation().name(), (order != null) ? order.id() : null)
				.update();
		}

	}

	record Order(long id, String status) {

	}

}
