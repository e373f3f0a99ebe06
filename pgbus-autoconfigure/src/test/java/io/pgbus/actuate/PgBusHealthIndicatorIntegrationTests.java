package io.pgbus.actuate;

import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.pgbus.actuate.OperatedApplication.Answer;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.store.BusDatabase;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The health of the bus over HTTP.
 */
class PgBusHealthIndicatorIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	private OperatedApplication application;

	@AfterEach
	void close() {
		if (this.application != null) {
			this.application.close();
		}
		this.database.close();
	}

	@Test
	void itIsUpWithRunningListenersAndInAReadinessGroup() {
		this.application = OperatedApplication.start(this.database,
				"management.endpoint.health.group.readiness.include=pgbus");
		await().untilAsserted(() -> {
			Answer health = health();
			assertThat(health.at("status")).isEqualTo("UP");
			assertThat(health.at("details/listeners/bill")).isEqualTo("RUNNING");
			assertThat(health.at("details/notifications")).isEqualTo("listening");
		});
		assertThat(this.application.get("/health/readiness").at("components/pgbus/status")).isEqualTo("UP");
	}

	@Test
	void listenersStoppedOrPausedOnPurposeAreNotDown() {
		this.application = OperatedApplication.start(this.database);
		this.application.registry.find("bill").stop();
		this.application.registry.find("ship").pause();
		Answer health = health();
		assertThat(health.at("status")).isEqualTo("UP");
		assertThat(health.at("details/listeners")).isEqualTo("{\"bill\":\"STOPPED\",\"ship\":\"PAUSED\"}");
	}

	@Test
	void aListenerThatBacksOffIsDown() throws Exception {
		this.application = OperatedApplication.start(this.database);
		try (Connection connection = this.database.connect(); Statement statement = connection.createStatement()) {
			statement.execute("alter table pgbus.cursor rename to cursor_away");
			this.application.publisher.publish("orders", "k", 1);
			await().untilAsserted(() -> {
				Answer health = health();
				assertThat(health.status()).isEqualTo(503);
				assertThat(health.at("status")).isEqualTo("DOWN");
				assertThat(health.text()).contains("BACKING_OFF");
			});
			statement.execute("alter table pgbus.cursor_away rename to cursor");
			await().atMost(Duration.ofSeconds(30))
				.untilAsserted(() -> assertThat(health().at("status")).isEqualTo("UP"));
		}
	}

	@Test
	void lostNotificationsAreADetailOnly() throws Exception {
		this.application = OperatedApplication.start(this.database,
				"pgbus.notifications.url=jdbc:postgresql://localhost:1/x");
		await().untilAsserted(() -> {
			Answer health = health();
			assertThat(health.at("status")).isEqualTo("UP");
			assertThat(health.at("details/notifications")).startsWith("lost");
			assertThat(health.at("details/notificationsLostSince")).contains("T");
			assertThat(health.at("details/notificationsFailure")).isNotBlank();
		});
	}

	@Test
	void withoutNotificationsTheDetailSaysSo() {
		this.application = OperatedApplication.start(this.database, "pgbus.notifications.enabled=false");
		assertThat(health().at("details/notifications")).startsWith("none");
	}

	@Test
	void aSchemaThatSomeoneElseHasMigratedIsDown() {
		this.application = OperatedApplication.start(this.database);
		this.database.jdbc().sql("update pgbus.bus set schema_version = 99").update();
		Answer health = health();
		assertThat(health.at("status")).isEqualTo("DOWN");
		assertThat(health.at("details/schema")).contains("version 99");
	}

	@Test
	void segmentsThatCannotBeLookedAfterAreADetail() {
		this.application = OperatedApplication.start(this.database, "pgbus.retention.interval=100ms");
		this.database.jdbc().sql("alter table pgbus.retention_lease rename to lease_away").update();
		await().untilAsserted(() -> assertThat(health().at("details/retentionWarning"))
			.contains("segments of the log could not be looked after"));
		assertThat(health().at("status")).isEqualTo("UP");
		this.database.jdbc().sql("alter table pgbus.lease_away rename to retention_lease").update();
		await().untilAsserted(() -> assertThat(health().at("details/retentionWarning")).isEqualTo("missing"));
	}

	@Test
	void itCanBeSwitchedOff() {
		this.application = OperatedApplication.start(this.database, "management.health.pgbus.enabled=false");
		assertThat(this.application.get("/health/pgbus").status()).isEqualTo(404);
	}

	@Test
	void aPoolWithoutConnectionsDoesNotHangTheCaller() throws Exception {
		this.application = OperatedApplication.start(this.database);
		PgListenerContainerRegistry registry = this.application.registry;
		try (HikariDataSource pool = new HikariDataSource()) {
			pool.setJdbcUrl(this.database.jdbcUrl());
			pool.setUsername(this.database.username());
			pool.setPassword(this.database.password());
			pool.setMaximumPoolSize(1);
			PgBusHealthIndicator indicator = new PgBusHealthIndicator(new BusDatabase((DataSource) pool, "pgbus"),
					registry, null, null, null, null, Duration.ofMillis(50));
			try (Connection taken = pool.getConnection()) {
				Health health = indicator.health();
				assertThat(health.getStatus()).isEqualTo(Status.DOWN);
				assertThat(health.getDetails().get("database")).isEqualTo("no answer within 50 ms");
				assertThat(taken.isValid(1)).isTrue();
			}
			await().untilAsserted(() -> assertThat(indicator.health().getStatus()).isEqualTo(Status.UP));
		}
	}

	private Answer health() {
		return this.application.get("/health/pgbus");
	}

}
