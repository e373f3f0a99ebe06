package io.pgbus.listener;

import java.util.List;

import io.pgbus.ListenedTable;
import io.pgbus.StartPosition;
import io.pgbus.replication.Publications;
import io.pgbus.store.GroupStore;
import io.pgbus.store.GroupStore.GroupIds;
import io.pgbus.store.PublishedTable;
import io.pgbus.store.TableInterest;
import io.pgbus.store.TableListenerStore;

/**
 * Publishes tables, stores what groups want of them, and starts the capture.
 *
 * @since 0.1.0
 */
public final class DefaultTableSubscriptions implements TableSubscriptions {

	private final Publications publications;

	private final TableListenerStore listeners;

	private final GroupStore groups;

	private final Runnable subscribed;

	/**
	 * Creates the subscriptions.
	 * @param publications publishes tables
	 * @param listeners stores what groups want
	 * @param groups makes groups
	 * @param subscribed is run when a group has subscribed, to start the capture
	 */
	public DefaultTableSubscriptions(Publications publications, TableListenerStore listeners, GroupStore groups,
			Runnable subscribed) {
		this.publications = publications;
		this.listeners = listeners;
		this.groups = groups;
		this.subscribed = subscribed;
	}

	@Override
	public Subscribed subscribe(String group, List<ListenedTable> tables) {
		List<TableInterest> interests = this.publications.find(tables);
		this.listeners.check(interests);
		this.publications.admit(tables);
		List<PublishedTable> published = interests.stream().map(TableInterest::table).toList();
		List<String> streams = published.stream().map(PublishedTable::stream).distinct().toList();
		GroupIds ids = this.groups.create(group, streams, StartPosition.latest());
		this.listeners.subscribe(ids.groupId(), interests);
		// while nobody was subscribed the table may have been taken out again
		this.publications.admit(tables);
		this.subscribed.run();
		return new Subscribed(streams, TableListenerStore.eventFilter(ids.groupId()));
	}

}
