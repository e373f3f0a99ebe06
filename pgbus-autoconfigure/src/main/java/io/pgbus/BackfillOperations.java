package io.pgbus;

import java.util.List;
import java.util.Optional;

/**
 * Delivers rows of tables to groups that listen to them, from the tables themselves.
 * Everything is done by the running listeners of the group, on all instances. All methods
 * run in transactions of their own.
 *
 * @since 0.1.0
 */
public interface BackfillOperations {

	/**
	 * Starts a backfill, or a replay: rows that the group has had may come again.
	 * @param group the name of the group, which listens to the table
	 * @param request which rows
	 * @return the backfill
	 * @throws PgBusException if there is no such group or it does not listen to the
	 * table, if the table has no primary key, or if the group has a backfill of this name
	 * @throws IllegalArgumentException if PostgreSQL does not take the query or the
	 * filter, the query does not yield the primary key, or one of the keys is none
	 */
	BackfillInfo start(String group, BackfillRequest request);

	/**
	 * Pauses a backfill: rows that are being handled come to their end. Changes that wait
	 * for it go on waiting.
	 * @param id the backfill
	 * @return the backfill as it is now; one that has ended stays as it is
	 * @throws PgBusException if there is no such backfill
	 */
	BackfillInfo pause(long id);

	/**
	 * Lets a paused backfill go on.
	 * @param id the backfill
	 * @return the backfill as it is now; one that is not paused stays as it is
	 * @throws PgBusException if there is no such backfill
	 */
	BackfillInfo resume(long id);

	/**
	 * Gives a backfill up. Rows that were read are not taken back; changes that wait for
	 * it come.
	 * @param id the backfill
	 * @return the backfill as it is now; one that is done stays as it is
	 * @throws PgBusException if there is no such backfill
	 */
	BackfillInfo cancel(long id);

	/**
	 * Starts a backfill again from its first row, whatever its state.
	 * @param id the backfill
	 * @return the backfill as it is now
	 * @throws PgBusException if there is no such backfill
	 */
	BackfillInfo restart(long id);

	/**
	 * Finds a backfill.
	 * @param id the backfill
	 * @return the backfill, empty if there is none
	 */
	Optional<BackfillInfo> find(long id);

	/**
	 * Returns the backfills of a group.
	 * @param group the name of the group
	 * @return the backfills, newest first; empty also if there is no such group
	 */
	List<BackfillInfo> list(String group);

}
