package io.pgbus.testing;

import java.util.List;

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

	/** To be run at the new server. */
	private static final String SEQUENCES = """
			select format('select setval(%L, %s)', format('%I.%I', schemaname, sequencename), last_value)
			from pg_sequences where last_value is not null and schemaname like ?
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
	 * Starts to bring rows.
	 * @param from the database
	 * @param to the other, in another server, with the same tables; those of the bus are
	 * emptied
	 * @return the replication
	 */
	public static LogicalReplication start(TestDatabase from, TestDatabase to) {
		from.jdbc().sql(PUBLISH).update();
		to.jdbc().sql(EMPTY).update();
		LogicalReplication replication = new LogicalReplication(from, to);
		replication.subscribe();
		return replication;
	}

	private void subscribe() {
		this.to.jdbc()
			.sql("create subscription %s connection '%s' publication pgbus_move".formatted(this.name,
					this.from.libpqUrl()))
			.update();
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

	/**
	 * Sets sequences, which are not brought.
	 * @param schemas the schemas that they are in, as a pattern
	 */
	public void copySequences(String schemas) {
		List<String> statements = this.from.jdbc().sql(SEQUENCES).param(schemas).query(String.class).list();
		statements.forEach((statement) -> this.to.jdbc().sql(statement).query(Long.class).single());
	}

}
