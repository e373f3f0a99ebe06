package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.pgbus.ListenedTable;
import io.pgbus.LiveChanges;
import io.pgbus.PgBusException;
import io.pgbus.TableBackfill;
import io.pgbus.TableOperation;
import io.pgbus.core.DefaultEventPublisher;
import io.pgbus.listener.BusConsumer;
import io.pgbus.listener.DefaultConsumerGroupOperations;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.Notifier;
import io.pgbus.store.StreamStore;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.util.unit.DataSize;

/**
 * Properties of the bus.
 *
 * @since 0.1.0
 */
@ConfigurationProperties("pgbus")
public class PgBusProperties {

	/**
	 * Whether the bus is set up.
	 */
	private boolean enabled = true;

	private final Schema schema = new Schema();

	/**
	 * Streams to make at start-up, by name, each with its number of partitions (8 by
	 * default), which cannot be changed later, and how long it keeps its events (a
	 * duration, "forever" or "consumed"): pgbus.streams.orders.partitions=16,
	 * pgbus.streams.orders.retention=30d. A name that is not made of a-z, 0-9 and dashes
	 * stands in brackets: pgbus.streams.[order.events].partitions=16. Other streams are
	 * made on first use.
	 */
	private final Map<String, Stream> streams = new LinkedHashMap<>();

	private final Publisher publisher = new Publisher();

	private final Consumer consumer = new Consumer();

	private final Notifications notifications = new Notifications();

	@NestedConfigurationProperty
	private final PgBusListenerProperties listener = new PgBusListenerProperties();

	@NestedConfigurationProperty
	private final PgBusCaptureProperties capture = new PgBusCaptureProperties();

	@NestedConfigurationProperty
	private final PgBusBackfillProperties backfill = new PgBusBackfillProperties();

	@NestedConfigurationProperty
	private final PgBusDataSourceProperties datasource = new PgBusDataSourceProperties();

	@NestedConfigurationProperty
	private final PgBusOutboxProperties outbox = new PgBusOutboxProperties();

	@NestedConfigurationProperty
	private final PgBusRetentionProperties retention = new PgBusRetentionProperties();

	/**
	 * Tables of table listeners by the name of their group, in place of those that the
	 * annotation names: pgbus.table-listeners.billing.tables[0].name=orders.
	 */
	private final Map<String, TableListener> tableListeners = new LinkedHashMap<>();

	public boolean isEnabled() {
		return this.enabled;
	}

	public void setEnabled(boolean enabled) {
		this.enabled = enabled;
	}

	public Schema getSchema() {
		return this.schema;
	}

	public Map<String, Stream> getStreams() {
		return this.streams;
	}

	public Publisher getPublisher() {
		return this.publisher;
	}

	public Consumer getConsumer() {
		return this.consumer;
	}

	public Notifications getNotifications() {
		return this.notifications;
	}

	public PgBusListenerProperties getListener() {
		return this.listener;
	}

	public PgBusCaptureProperties getCapture() {
		return this.capture;
	}

	public PgBusBackfillProperties getBackfill() {
		return this.backfill;
	}

	public PgBusDataSourceProperties getDatasource() {
		return this.datasource;
	}

	public PgBusOutboxProperties getOutbox() {
		return this.outbox;
	}

	public PgBusRetentionProperties getRetention() {
		return this.retention;
	}

	public Map<String, TableListener> getTableListeners() {
		return this.tableListeners;
	}

	/**
	 * The bus's schema in the database.
	 */
	public static class Schema {

		/**
		 * Name of the schema that holds the bus's tables.
		 */
		private String name = BusDatabase.DEFAULT_SCHEMA;

		/**
		 * Whether the application makes and migrates the schema, or only checks its
		 * version.
		 */
		private Initialize initialize = Initialize.ALWAYS;

		public String getName() {
			return this.name;
		}

		public void setName(String name) {
			this.name = name;
		}

		public Initialize getInitialize() {
			return this.initialize;
		}

		public void setInitialize(Initialize initialize) {
			this.initialize = initialize;
		}

		/**
		 * Who makes the schema.
		 */
		public enum Initialize {

			/** The application makes and migrates the schema at start-up. */
			ALWAYS,

			/** Someone else does; the application checks the version at start-up. */
			NEVER

		}

	}

	/**
	 * A stream.
	 */
	public static class Stream {

		/**
		 * Number of partitions, which cannot be changed later.
		 */
		private int partitions = StreamStore.DEFAULT_PARTITIONS;

		/**
		 * How long events are kept: a duration; "consumed", until all groups have read
		 * them; or "forever". By default what was declared before, and "forever" if
		 * nothing was.
		 */
		private @Nullable String retention;

		public int getPartitions() {
			return this.partitions;
		}

		public void setPartitions(int partitions) {
			this.partitions = partitions;
		}

		public @Nullable String getRetention() {
			return this.retention;
		}

		public void setRetention(@Nullable String retention) {
			this.retention = retention;
		}

	}

	/**
	 * Publishing.
	 */
	public static class Publisher {

		/**
		 * Most bytes that a payload may have as JSON.
		 */
		private DataSize maxPayload = DefaultEventPublisher.DEFAULT_MAX_PAYLOAD;

		public DataSize getMaxPayload() {
			return this.maxPayload;
		}

		public void setMaxPayload(DataSize maxPayload) {
			this.maxPayload = maxPayload;
		}

	}

	/**
	 * This application instance as other instances see it.
	 */
	public static class Consumer {

		/**
		 * Name of this instance for people to read. By default the application's name,
		 * the host's and the process id.
		 */
		private @Nullable String name;

		/**
		 * Silence after which other instances take this one for dead and take over what
		 * it holds. A process that is gone is noticed at once.
		 */
		private Duration timeout = BusConsumer.DEFAULT_TIMEOUT;

		/**
		 * Silence after which a consumer that reads by ConsumerGroupOperations is taken
		 * for dead and what it holds is given to others.
		 */
		private Duration pullTimeout = DefaultConsumerGroupOperations.DEFAULT_PULL_TIMEOUT;

		public @Nullable String getName() {
			return this.name;
		}

		public void setName(@Nullable String name) {
			this.name = name;
		}

		public Duration getTimeout() {
			return this.timeout;
		}

		public void setTimeout(Duration timeout) {
			this.timeout = timeout;
		}

		public Duration getPullTimeout() {
			return this.pullTimeout;
		}

		public void setPullTimeout(Duration pullTimeout) {
			this.pullTimeout = pullTimeout;
		}

	}

	/**
	 * Wake-ups between instances, by LISTEN and NOTIFY.
	 */
	public static class Notifications {

		/**
		 * Whether instances wake each other. Without it they find events by polling.
		 */
		private boolean enabled = true;

		/**
		 * JDBC URL to listen on, if the DataSource goes through a pooler that does not
		 * keep sessions. By default that of the DataSource.
		 */
		private @Nullable String url;

		/**
		 * User to listen as. By default that of the DataSource.
		 */
		private @Nullable String username;

		/**
		 * Password of the user to listen as. By default that of the DataSource.
		 */
		private @Nullable String password;

		/**
		 * How long notifications are collected before they are sent together, at most;
		 * the first after a pause goes at once.
		 */
		private Duration interval = Notifier.DEFAULT_INTERVAL;

		public boolean isEnabled() {
			return this.enabled;
		}

		public void setEnabled(boolean enabled) {
			this.enabled = enabled;
		}

		public @Nullable String getUrl() {
			return this.url;
		}

		public void setUrl(@Nullable String url) {
			this.url = url;
		}

		public @Nullable String getUsername() {
			return this.username;
		}

		public void setUsername(@Nullable String username) {
			this.username = username;
		}

		public @Nullable String getPassword() {
			return this.password;
		}

		public void setPassword(@Nullable String password) {
			this.password = password;
		}

		public Duration getInterval() {
			return this.interval;
		}

		public void setInterval(Duration interval) {
			this.interval = interval;
		}

	}

	/**
	 * The tables of a group.
	 */
	public static class TableListener {

		/**
		 * Tables that the group listens to.
		 */
		private final List<Table> tables = new ArrayList<>();

		public List<Table> getTables() {
			return this.tables;
		}

		List<ListenedTable> toListenedTables(String property) {
			return this.tables.stream().map((table) -> table.toListenedTable(property)).toList();
		}

	}

	/**
	 * A table that a group listens to.
	 */
	public static class Table {

		/**
		 * Name of the table as SQL has it.
		 */
		private @Nullable String name;

		/**
		 * Condition in SQL on the columns of a row. By default every row passes.
		 */
		private @Nullable String filter;

		/**
		 * Operations that are wanted.
		 */
		private Set<TableOperation> operations = ListenedTable.DEFAULT_OPERATIONS;

		/**
		 * Columns of which an update must have changed at least one. By default any.
		 */
		private Set<String> columns = Set.of();

		/**
		 * Select that yields rows of the table to begin with. By default the group gets
		 * changes only.
		 */
		private @Nullable String backfill;

		/**
		 * What becomes of changes while rows are backfilled.
		 */
		private LiveChanges liveChanges = LiveChanges.AFTER_BACKFILL;

		/**
		 * Name of the backfill. The group gets it once; with another name it gets the
		 * rows again.
		 */
		private String backfillName = TableBackfill.DEFAULT_NAME;

		public @Nullable String getBackfill() {
			return this.backfill;
		}

		public void setBackfill(@Nullable String backfill) {
			this.backfill = backfill;
		}

		public LiveChanges getLiveChanges() {
			return this.liveChanges;
		}

		public void setLiveChanges(LiveChanges liveChanges) {
			this.liveChanges = liveChanges;
		}

		public String getBackfillName() {
			return this.backfillName;
		}

		public void setBackfillName(String backfillName) {
			this.backfillName = backfillName;
		}

		public @Nullable String getName() {
			return this.name;
		}

		public void setName(@Nullable String name) {
			this.name = name;
		}

		public @Nullable String getFilter() {
			return this.filter;
		}

		public void setFilter(@Nullable String filter) {
			this.filter = filter;
		}

		public Set<TableOperation> getOperations() {
			return this.operations;
		}

		public void setOperations(Set<TableOperation> operations) {
			this.operations = operations;
		}

		public Set<String> getColumns() {
			return this.columns;
		}

		public void setColumns(Set<String> columns) {
			this.columns = columns;
		}

		private ListenedTable toListenedTable(String property) {
			if (this.name == null) {
				throw new PgBusException(property + ".tables has a table without a name. Set its \"name\".");
			}
			return new ListenedTable(this.name, this.filter, this.operations, this.columns, (this.backfill != null)
					? new TableBackfill(this.backfill, this.liveChanges, this.backfillName) : null);
		}

	}

}
