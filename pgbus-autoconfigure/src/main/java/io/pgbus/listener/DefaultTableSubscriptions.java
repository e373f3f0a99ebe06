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
import org.jspecify.annotations.Nullable;
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

	private final @Nullable Capture capture;

	private final @Nullable CaptureMaintenance maintenance;

	/**
	 * Creates the subscriptions.
	 * @param publications publishes tables
	 * @param listeners stores what groups want
	 * @param groups makes groups
	 * @param backfills starts backfills
	 * @param capture captures changes, and is started with the first subscription to any;
	 * {@code null} if only rows that are there can be had
	 * @param maintenance looks after streams and publications, and is started with it
	 */
	public DefaultTableSubscriptions(Publications publications, TableListenerStore listeners, GroupStore groups,
			BackfillStore backfills, @Nullable Capture capture, @Nullable CaptureMaintenance maintenance) {
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
		Capture wanted = live.isEmpty() ? null : captureFor(group);
		if (wanted != null) {
			wanted.check();
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
		if (wanted != null) {
			wanted.start();
			if (this.maintenance != null) {
				this.maintenance.start();
			}
			awaitSlot(wanted, group);
		}
		return new Subscribed(streams, TableListenerStore.eventFilter(ids.groupId()));
	}

	private Capture captureFor(String group) {
		if (this.capture == null) {
			throw new IllegalArgumentException("Group \"" + group
					+ "\" cannot listen to changes of tables: pgbus.capture.enabled is false, or it is not known where "
					+ "to connect for replication; then set pgbus.capture.url. Without that it can only have rows that "
					+ "are there: by a backfill, and READ as the only operation.");
		}
		return this.capture;
	}

	/** What is committed before there is a slot would be missed without a word. */
	private static void awaitSlot(Capture capture, String group) {
		try {
			capture.awaitSlot(PATIENCE);
		}
		catch (PgBusException ex) {
			logger.warn("Group {} listens to tables, but changes are not captured yet: {}", group, ex.getMessage());
		}
	}

}
