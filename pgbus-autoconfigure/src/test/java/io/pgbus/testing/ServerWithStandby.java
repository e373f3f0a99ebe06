package io.pgbus.testing;

import java.util.Map;

import io.pgbus.testing.OwnServer.StopMode;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * A server with a standby that has all that is acknowledged, and takes its place.
 */
public final class ServerWithStandby implements AutoCloseable {

	/** It keeps the log that the standby needs. */
	private static final String SLOT = "standby";

	private final OwnServer primary;

	private final OwnServer standby;

	private ServerWithStandby(OwnServer primary, OwnServer standby) {
		this.primary = primary;
		this.standby = standby;
	}

	/**
	 * Starts both. Skips the test where the tests' PostgreSQL is not an embedded one.
	 * @return the servers
	 */
	public static ServerWithStandby start() {
		OwnServer primary = TestDatabase.startOwnServer(Map.of());
		JdbcClient admin = primary.database("postgres").jdbc();
		admin.sql("select pg_create_physical_replication_slot(?, true)::text").param(SLOT).query().listOfRows();
		OwnServer standby = primary.startStandby(Map.of("primary_slot_name", SLOT, "hot_standby_feedback", "on"));
		admin.sql("alter system set synchronous_standby_names = '*'").update();
		admin.sql("select pg_reload_conf()").query().listOfRows();
		await().until(() -> admin.sql("select count(*) = 1 from pg_stat_replication where sync_state = 'sync'")
			.query(Boolean.class)
			.single());
		return new ServerWithStandby(primary, standby);
	}

	/**
	 * Creates a database.
	 * @return the database; connections go where the primary is
	 */
	public TestDatabase createDatabase() {
		String name = this.primary.createDatabase().name();
		return this.standby.databaseHereOrIn(this.primary, name);
	}

	/**
	 * Lets the standby keep slots in sync from now on, and waits until it has one. Skips
	 * the test where the server is too old for it.
	 * @param slot the name of the slot
	 */
	public void syncSlot(String slot) {
		JdbcClient here = this.primary.database("postgres").jdbc();
		assumeTrue(here.sql("show server_version_num").query(Integer.class).single() >= 170000,
				"Slots are kept in sync from PostgreSQL 17 on");
		JdbcClient there = this.standby.database("postgres").jdbc();
		// not from the beginning, as it looks more and more seldom where there is none
		there.sql("alter system set sync_replication_slots = on").update();
		there.sql("select pg_reload_conf()").query().listOfRows();
		await().until(() -> {
			// the slot has to move on before it can be used there, which takes some
			// writing
			here.sql("select pg_log_standby_snapshot()::text").query().listOfRows();
			here.sql("select pg_logical_emit_message(false, 'filler', repeat('x', 200000))::text").query().listOfRows();
			return there
				.sql("select count(*) = 1 from pg_replication_slots where slot_name = ? and synced and not temporary")
				.param(slot)
				.query(Boolean.class)
				.single();
		});
	}

	/**
	 * Kills the server, and promotes the standby.
	 */
	public void failOver() {
		this.primary.stop(StopMode.IMMEDIATE);
		this.standby.promote();
	}

	@Override
	public void close() {
		this.standby.close();
		this.primary.close();
	}

}
