package io.pgbus.autoconfigure;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

import io.micrometer.core.instrument.MeterRegistry;
import io.pgbus.BackfillInfo;
import io.pgbus.BackfillOperations;
import io.pgbus.BackfillRequest;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import io.pgbus.listener.PgListenerContainerRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The meters of backfills.
 */
class BackfillMetricsIntegrationTests {

	private static final String[] TAGS = { "group", "rows", "table", "public.item" };

	private ObservedApplication application;

	@AfterEach
	void close() {
		Items.goOn.countDown();
		this.application.close();
	}

	@Test
	void progressIsShownWhileThereIsAnyAndWhatWasReadIsCounted() throws InterruptedException {
		Items.reset();
		this.application = ObservedApplication.start(List.of(Items.class), "pgbus.metrics.gauge-interval=0",
				"pgbus.backfill.chunk-rows=10", "pgbus.listener.batch-size=10");
		JdbcClient jdbc = JdbcClient.create(this.application.database.dataSource());
		jdbc.sql("create table item (id int primary key)").update();
		jdbc.sql("insert into item select n from generate_series(1, 100) n").update();
		jdbc.sql("analyze item").update();
		assertThat(gauge("pgbus.backfills", "state", "running")).isZero();
		this.application.bean(PgListenerContainerRegistry.class).find("rows").start();
		BackfillInfo started = this.application.bean(BackfillOperations.class)
			.start("rows", BackfillRequest.of("item"));
		Items.reached.await();
		assertThat(gauge("pgbus.backfills", "state", "running")).isEqualTo(1);
		assertThat(gauge("pgbus.backfill.rows", TAGS)).isEqualTo(20);
		assertThat(gauge("pgbus.backfill.share", TAGS)).isEqualTo(0.2);
		assertThat(gauge("pgbus.backfill.rate", TAGS)).isPositive();
		Items.goOn.countDown();
		await().until(() -> gauge("pgbus.backfills", "state", "running") == 0);
		assertThat(registry().find("pgbus.backfill.rows").gauge()).isNull();
		assertThat(this.application.bean(BackfillOperations.class).find(started.id()).orElseThrow().state())
			.isEqualTo(BackfillInfo.State.DONE);
		await().until(() -> registry().get("pgbus.backfill.read").tags(TAGS).counter().count() == 100);
		assertThat(registry().get("pgbus.backfill.chunks").tags(TAGS).counter().count()).isEqualTo(10);
		assertThat(jdbc.sql("select count(*) from pgbus.backfill_chunk").query(Long.class).single()).isZero();
	}

	private double gauge(String name, String... tags) {
		return registry().get(name).tags(tags).gauge().value();
	}

	private MeterRegistry registry() {
		return this.application.bean(MeterRegistry.class);
	}

	static class Items {

		static CountDownLatch reached = new CountDownLatch(1);

		static CountDownLatch goOn = new CountDownLatch(1);

		static void reset() {
			reached = new CountDownLatch(1);
			goOn = new CountDownLatch(1);
		}

		@PgTableListener(id = "rows", group = "rows", operations = TableOperation.READ,
				tables = @PgTable(name = "item"), autoStartup = "false")
		void on(TableChange<Map<String, Object>> change) throws InterruptedException {
			if (((Number) change.key().get("id")).intValue() == 21) {
				reached.countDown();
				goOn.await();
			}
		}

	}

}
