package io.pgbus.store;

import java.util.List;
import java.util.stream.Collectors;

import io.pgbus.PgBusException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells whether the transaction ids that are stored are from this server.
 * <p>
 * <b>Invariant.</b> Nothing is delivered by ids that another server gave: by those, new
 * events may count as seen, and would be lost. The row of the table origin holds its own
 * xmin and the oid of another table. Copies of a server's files keep both, as they keep
 * the ids; a dump or a replication writes the row anew, with an xmin of where it is
 * written.
 */
final class Origin {

	private static final Logger logger = LoggerFactory.getLogger(Origin.class);

	/** A role that only publishes need not. */
	private static final String MAY_LOOK = "select has_table_privilege('{bus}.origin', 'SELECT')";

	/**
	 * Those that bring rows of the bus. As long as they are there, not all have come, or
	 * more may come, whatever is done here.
	 */
	private static final String SUBSCRIPTIONS = """
			select distinct format('%I', s.subname) from pg_subscription s
			join pg_subscription_rel r on r.srsubid = s.oid
			join pg_class c on c.oid = r.srrelid
			where c.relnamespace = (select relnamespace from pg_class where oid = '{bus}.event'::regclass)
			and (
				c.relname in ('bus', 'consumer_group', 'cursor', 'cursor_state', 'event', 'failed_event', 'ledger', 'stream')
				or c.relname ~ '^event_[0-9]+$'
			)
			order by 1
			""";

	private static final String IS_MOVED = "select {bus}.is_moved()";

	/**
	 * Replication does not bring the sequence, from which ids would then be drawn a
	 * second time. It is behind also where the table origin, which would tell, was left
	 * out. A floor that no transaction has taken is where a group is to start, which may
	 * be ahead. The order makes the planner take the index, where else it would expect to
	 * find one at once.
	 */
	private static final String IS_BEHIND = """
			with last as materialized (select coalesce(%s, -1) as id)
			select exists (
				select from last, {bus}.cursor_state s
				where s.cursor_id > 0 and greatest(
					s.ceiling, s.position,
					case when s.low_bound > '3' then s.low_floor end, case when s.high_bound > '3' then s.high_floor end
				) > last.id
			) or exists (
				select from last, {bus}.stream s
				cross join lateral generate_series(0, s.partitions - 1) as p(partition)
				cross join lateral (
					select from {bus}.event e
					where e.stream_id = s.id and e.partition = p.partition and e.id > last.id
					order by e.id desc limit 1
				) e
			)
			""".formatted(Horizon.LAST_ID);

	private static final String MAY_BE_NOTED = """
			select has_table_privilege('{bus}.origin', 'INSERT') and has_table_privilege('{bus}.origin', 'UPDATE')
			and not exists (
				select from {bus}.origin o
				where o.system_id = (select system_identifier::text from pg_control_system())
				and o.mark = o.xmin::text and o.event_table = '{bus}.event'::regclass
			)
			""";

	private static final String NOTE = "select {bus}.note_origin()";

	private static final String REBASE = "select {bus}.rebase();";

	/** Where nothing else shows that it was moved. */
	private static final String REBASE_BY_FORCE = "select {bus}.rebase(true);";

	private final BusDatabase database;

	Origin(BusDatabase database) {
		this.database = database;
	}

	/**
	 * Checks that the data was not moved. What has its ids, but tells by other signs that
	 * it has them, is noted: after {@code pg_upgrade}, and where a dump went back to.
	 * @throws PgBusException if it was, with what to run
	 */
	void check() {
		if (!isTrue(MAY_LOOK)) {
			return;
		}
		checkAllHasCome();
		if (isTrue(IS_MOVED)) {
			throw new PgBusException("""
					The schema "%s" was moved here from another server, by a dump or by replication. Its transaction \
					ids mean nothing here, and events would be lost. With all applications stopped, run as its owner

					    %s

					and start again. See "Moving a bus" in docs/operations.md.""".formatted(this.database.schema(),
					this.database.sql(REBASE)));
		}
		if (isTrue(IS_BEHIND)) {
			throw new PgBusException("""
					The schema "%s" has events, or groups that have read them, behind the last id that the sequence \
					event_id has given. They have come here without the sequence, or it was set back. With all \
					applications stopped, run as its owner

					    %s

					and start again. See "Moving a bus" in docs/operations.md.""".formatted(this.database.schema(),
					this.database.sql(REBASE_BY_FORCE)));
		}
		if (isTrue(MAY_BE_NOTED)) {
			logger.info("The schema \"{}\" has come to a server that knows its transaction ids, and goes on there",
					this.database.schema());
			this.database.own(NOTE).query().listOfRows();
		}
	}

	/**
	 * Checks that no subscription still brings rows of the bus.
	 * @throws PgBusException if one does
	 */
	void checkAllHasCome() {
		List<String> subscriptions = this.database.own(SUBSCRIPTIONS).query((row, index) -> row.getString(1)).list();
		if (!subscriptions.isEmpty()) {
			throw new PgBusException("""
					The schema "%s" is being brought here from another server. When all applications there have been \
					stopped, and all that they did has come, run

					%s    %s

					and start again. See "Moving a bus" in docs/operations.md.""".formatted(this.database.schema(),
					drop(subscriptions), this.database.sql(REBASE)));
		}
	}

	private static String drop(List<String> subscriptions) {
		return subscriptions.stream()
			.map((name) -> "    drop subscription " + name + ";\n")
			.collect(Collectors.joining());
	}

	private boolean isTrue(String sql) {
		return this.database.own(sql).query(Boolean.class).single();
	}

}
