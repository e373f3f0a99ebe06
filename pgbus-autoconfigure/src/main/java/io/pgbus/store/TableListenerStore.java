package io.pgbus.store;

import java.util.Collection;
import java.util.List;

/**
 * Which groups listen to which tables. In this order a listener comes to its changes:
 * <ol>
 * <li>the tables are resolved and put into the publication;</li>
 * <li>{@link #check} says whether what the group wants can be had;</li>
 * <li>{@link GroupStore#create} makes the group, the {@link PublishedTable#stream()
 * streams} and the cursors;</li>
 * <li>{@link #subscribe} lets the capture append what the group wants, from then on;</li>
 * <li>{@link #retain} forgets the tables that the group listened to before;</li>
 * <li>the listener reads the streams through the {@link #eventFilter event filter}.</li>
 * </ol>
 *
 * @since 0.1.0
 */
@SuppressWarnings("DoNotCallSuggester")
public final class TableListenerStore {

	private final BusDatabase database;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public TableListenerStore(BusDatabase database) {
		this.database = database;
	}

	/**
	 * Returns the filter through which a group reads the streams of its tables: the
	 * streams also have what only other groups want.
	 * @param groupId the group
	 * @return the filter, for {@link Subscription}
	 */
	public static String eventFilter(int groupId) {
		return "headers ? '" + header(groupId) + "'";
	}

	/**
	 * Returns the header that says why a group gets a change: {@code in}, {@code leaves},
	 * or {@code error: } and a message where its filter failed.
	 * @param groupId the group
	 * @return the name of the header
	 */
	public static String header(int groupId) {
		return "group-" + groupId;
	}

	/**
	 * Checks filters and columns against the tables as they are, apart from the caller's
	 * transaction. Nothing is changed.
	 * @param tables the tables
	 * @throws IllegalArgumentException if something cannot be had, with the reason
	 */
	public void check(Collection<TableInterest> tables) {
		throw new UnsupportedOperationException(this.database.schema());
	}

	/**
	 * Subscribes a group to tables whose streams exist, in a transaction of its own. What
	 * is committed to a table after this returns will be appended to the table's stream,
	 * if the group wants it. A table to which the group is subscribed already is changed
	 * to what it wants now, for changes that have not been captured yet.
	 * @param groupId the group
	 * @param tables the tables
	 * @return the subscriptions, in the order of the tables
	 * @throws IllegalArgumentException if something cannot be had, as {@link #check} says
	 */
	public List<TableSubscription> subscribe(int groupId, Collection<TableInterest> tables) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Ends the subscriptions of a group to all other tables, in a transaction of its own.
	 * @param groupId the group
	 * @param tables the tables to stay subscribed to
	 * @return how many subscriptions were ended
	 */
	public int retain(int groupId, Collection<PublishedTable> tables) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Returns all subscriptions of all groups, in one cheap query apart from the caller's
	 * transaction.
	 * @return the subscriptions
	 */
	public List<TableSubscription> subscriptions() {
		throw new UnsupportedOperationException();
	}

}
