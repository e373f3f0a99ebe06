package io.pgbus.store;

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

	private static final String IS_MOVED = "select {bus}.is_moved()";

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
		if (isTrue(IS_MOVED)) {
			throw new PgBusException("""
					The schema "%s" was moved here from another server, by a dump or by replication. Its transaction \
					ids mean nothing here, and events would be lost. With all applications stopped, run as its owner

					    %s

					and start again. See "Moving a bus" in docs/operations.md.""".formatted(this.database.schema(),
					this.database.sql(REBASE)));
		}
		if (isTrue(MAY_BE_NOTED)) {
			logger.info("The schema \"{}\" has come to a server that knows its transaction ids, and goes on there",
					this.database.schema());
			this.database.own(NOTE).query().listOfRows();
		}
	}

	private boolean isTrue(String sql) {
		return this.database.own(sql).query(Boolean.class).single();
	}

}
