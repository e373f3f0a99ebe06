package io.pgbus.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import io.pgbus.ListenedTable;
import io.pgbus.PgBusException;
import io.pgbus.StartPosition;
import io.pgbus.replication.Capture;
import io.pgbus.replication.CaptureMaintenance;
import io.pgbus.replication.Publications;
import io.pgbus.store.BackfillStore;
import io.pgbus.store.GroupStore;
import io.pgbus.store.GroupStore.GroupIds;
import io.pgbus.store.PublishedTable;
import io.pgbus.store.TableInterest;
import io.pgbus.store.TableListenerStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes tables, stores what groups want of them, and starts the capture.
 *
 * @since 0.1.0
 */
public final class DefaultTableSubscriptions implements TableSubscriptions {

	private static final Logger logger = LoggerFactory.getLogger(DefaultTableSubscriptions.class);

	/** A new slot waits for transactions that write; the application does not. */
	private static final Duration PATIENCE = Duration.ofSeconds(10);

	private final Publications publications;

	private final TableListenerStore listeners;

	private final GroupStore groups;

	private final BackfillStore backfills;

	private final Capture capture;

	private final CaptureMaintenance maintenance;

	/**
	 * Creates the subscriptions.
	 * @param publications publishes tables
	 * @param listeners stores what groups want
	 * @param groups makes groups
	 * @param backfills starts backfills
	 * @param capture captures changes; it is started with the first subscription
	 * @param maintenance looks after streams and publications; is started with it
	 */
	public DefaultTableSubscriptions(Publications publications, TableListenerStore listeners, GroupStore groups,
			BackfillStore backfills, Capture capture, CaptureMaintenance maintenance) {
		this.publications = publications;
		this.listeners = listeners;
		this.groups = groups;
		this.backfills = backfills;
		this.capture = capture;
		this.maintenance = maintenance;
	}

	@Override
	public Subscribed subscribe(String group, List<ListenedTable> tables) {
		List<ListenedTable> live = tables.stream().filter(ListenedTable::wantsChanges).toList();
		if (!live.isEmpty()) {
			this.capture.check();
		}
		List<TableInterest> interests = new ArrayList<>(this.publications.find(live));
		tables.stream().filter((table) -> !table.wantsChanges()).map(this.backfills::find).forEach(interests::add);
		this.listeners.check(interests);
		interests.forEach(this.backfills::check);
		if (!live.isEmpty()) {
			this.publications.admit(live);
		}
		List<PublishedTable> published = interests.stream().map(TableInterest::table).toList();
		List<String> streams = published.stream().map(PublishedTable::stream).distinct().toList();
		GroupIds ids = this.groups.create(group, streams, StartPosition.latest());
		this.listeners.subscribe(ids.groupId(), interests);
		if (!live.isEmpty()) {
			// while nobody was subscribed the table may have been taken out again
			this.publications.admit(live);
		}
		interests.forEach((interest) -> this.backfills.declare(ids.groupId(), interest));
		if (!live.isEmpty()) {
			this.capture.start();
			this.maintenance.start();
			awaitSlot(group);
		}
		return new Subscribed(streams, TableListenerStore.eventFilter(ids.groupId()));
	}

	/** What is committed before there is a slot would be missed without a word. */
	private void awaitSlot(String group) {
		try {
			this.capture.awaitSlot(PATIENCE);
		}
		catch (PgBusException ex) {
			logger.warn("Group {} listens to tables, but changes are not captured yet: {}", group, ex.getMessage());
		}
	}

}
