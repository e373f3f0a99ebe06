package io.pgbus.listener;

import java.util.List;

import io.pgbus.ListenedTable;

/**
 * Lets groups listen to tables.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface TableSubscriptions {

	/**
	 * Sees to it that the changes of tables come to a group, which is made if there is
	 * none. Runs in transactions of its own.
	 * @param group the name of the group
	 * @param tables the tables
	 * @return where the changes come
	 * @throws io.pgbus.PgBusException if a table cannot be listened to, with the remedy;
	 * nothing has been changed then
	 */
	Subscribed subscribe(String group, List<ListenedTable> tables);

	/**
	 * Where changes come.
	 *
	 * @param streams the streams of the tables
	 * @param filter the condition on events of these streams that are for the group
	 */
	record Subscribed(List<String> streams, String filter) {

	}

}
