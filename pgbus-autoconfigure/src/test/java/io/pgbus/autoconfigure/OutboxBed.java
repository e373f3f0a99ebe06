package io.pgbus.autoconfigure;

import java.util.List;

import io.pgbus.replication.Capture;
import io.pgbus.testing.TestDatabase;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two applications, each with a table <code>orders</code> in a database of its own, and a
 * bus in a third one.
 */
final class OutboxBed implements AutoCloseable {

	final TestDatabase shop = TestDatabase.create();

	final TestDatabase stock = TestDatabase.create();

	final TestDatabase bus = TestDatabase.create();

	OutboxBed() {
		for (TestDatabase data : List.of(this.shop, this.stock)) {
			data.jdbc().sql("create table orders (id bigint primary key, status text not null)").update();
		}
	}

	ApplicationContextRunner application(TestDatabase data) {
		return on(data, this.bus);
	}

	static ApplicationContextRunner on(TestDatabase data, TestDatabase bus) {
		return BusApplication.on(data, bus)
			.withPropertyValues("pgbus.capture.standby-interval=200ms", "pgbus.capture.trim-interval=500ms");
	}

	static void awaitCapture(ApplicationContext context) {
		await().untilAsserted(() -> assertThat(context.getBean(Capture.class).status().isLeader()).isTrue());
	}

	static long count(TestDatabase database, String from) {
		return database.jdbc().sql("select count(*) from " + from).query(Long.class).single();
	}

	@Override
	public void close() {
		for (TestDatabase data : List.of(this.shop, this.stock)) {
			await().ignoreExceptions().untilAsserted(() -> data.jdbc().sql("""
					select pg_drop_replication_slot(slot_name) from pg_replication_slots
					where database = current_database()""").query().listOfRows());
			data.close();
		}
		this.bus.close();
	}

}
