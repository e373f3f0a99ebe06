package io.pgbus.testing;

import java.util.Map;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.awaitility.Awaitility.await;

/**
 * A database whose rows are brought to another server by a publication and a
 * subscription, step by step as the documentation has it.
 */
public final class LogicalReplication implements AutoCloseable {

	/** All tables of the database, and the log as one of them. */
	private static final String PUBLISH = """
			create publication pgbus_move for all tables with (publish_via_partition_root = true)
			""";

	private static final String EMPTY = """
			do $$ begin
				execute (
					select 'truncate ' || string_agg(format('%I.%I', schemaname, tablename), ', ')
					from pg_tables where schemaname = 'pgbus'
				);
			end $$
			""";

	private final TestDatabase from;

	private final TestDatabase to;

	/** As a slot of the server it has to have a name of its own. */
	private final String name;

	private boolean ended;

	private LogicalReplication(TestDatabase from, TestDatabase to) {
		this.from = from;
		this.to = to;
		this.name = "move_" + from.name();
	}

	/**
	 * Starts a server that rows may be brought to, and quickly: tables are copied one
	 * after the other, and looked after in between.
	 * @return the server
	 */
	public static OwnServer startSubscriber() {
		return TestDatabase.startOwnServer(Map.of("wal_retrieve_retry_interval", "100ms",
				"max_sync_workers_per_subscription", "4", "max_logical_replication_workers", "8"));
	}

	/**
	 * Starts to bring rows.
	 * @param from the database
	 * @param to the other, in another server, with the same tables; those of the bus are
	 * emptied
	 * @return the replication
	 */
	public static LogicalReplication start(TestDatabase from, TestDatabase to) {
		empty(to);
		return subscribe(from, to);
	}

	/**
	 * Starts to bring rows to tables that have to be empty.
	 * @param from the database
	 * @param to the other, in another server, with the same tables
	 * @return the replication
	 */
	public static LogicalReplication subscribe(TestDatabase from, TestDatabase to) {
		from.jdbc().sql(PUBLISH).update();
		LogicalReplication replication = new LogicalReplication(from, to);
		to.jdbc()
			.sql("create subscription %s connection '%s' publication pgbus_move".formatted(replication.name,
					from.libpqUrl()))
			.update();
		return replication;
	}

	/**
	 * Removes what the schema of a bus has from the beginning.
	 * @param database the database
	 */
	public static void empty(TestDatabase database) {
		database.jdbc().sql(EMPTY).update();
	}

	public String name() {
		return this.name;
	}

	/**
	 * Waits until all rows that there were are there, and what has changed since.
	 */
	public void awaitCopied() {
		await().until(() -> this.to.jdbc()
			.sql("select count(*) > 0 and bool_and(srsubstate = 'r') from pg_subscription_rel")
			.query(Boolean.class)
			.single());
	}

	/**
	 * Waits until all that is committed now is there.
	 */
	public void awaitCaughtUp() {
		awaitCopied();
		JdbcClient admin = this.from.admin();
		String end = admin.sql("select pg_current_wal_lsn()::text").query(String.class).single();
		await().until(
				() -> admin.sql("select confirmed_flush_lsn >= ?::pg_lsn from pg_replication_slots where slot_name = ?")
					.params(end, this.name)
					.query(Boolean.class)
					.single());
	}

	/**
	 * Kills all who work with the database, as far as it can tell, moves the last that
	 * they did, and ends. Then the database lets them in again.
	 */
	public void endWithAllKilled() {
		this.from.cutOff();
		awaitCaughtUp();
		this.to.jdbc().sql("alter subscription " + this.name + " disable").update();
		this.from.letIn();
		close();
	}

	/**
	 * Ends it.
	 */
	@Override
	public void close() {
		if (!this.ended) {
			this.to.jdbc().sql("drop subscription " + this.name).update();
			this.ended = true;
		}
	}

}
