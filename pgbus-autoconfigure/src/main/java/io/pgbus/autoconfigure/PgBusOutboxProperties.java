package io.pgbus.autoconfigure;

import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * The outbox of an application whose bus is in another database.
 *
 * @since 0.1.0
 */
public class PgBusOutboxProperties {

	/** The name of the outbox's schema by default. */
	static final String DEFAULT_SCHEMA = "pgbus_outbox";

	/**
	 * Whether events are published into the application's database, from where they are
	 * carried to the bus. By default they are if pgbus.datasource.url is set and the
	 * application has a DataSource of its own.
	 */
	private @Nullable Boolean enabled;

	/**
	 * Name of the schema in the application's database that holds the outbox and the
	 * inbox.
	 */
	private String schema = DEFAULT_SCHEMA;

	/**
	 * Streams on the bus to which changes of the application's tables are published, by
	 * name, each with its tables: pgbus.outbox.streams.orders.tables[0].name=orders.
	 */
	private final Map<String, PgBusProperties.TableListener> streams = new LinkedHashMap<>();

	/**
	 * Number of workers of this instance that carry events to the bus.
	 */
	private int concurrency = 1;

	/**
	 * Maximum number of events that are carried in one transaction.
	 */
	private int batchSize = 500;

	public @Nullable Boolean getEnabled() {
		return this.enabled;
	}

	public void setEnabled(@Nullable Boolean enabled) {
		this.enabled = enabled;
	}

	public String getSchema() {
		return this.schema;
	}

	public void setSchema(String schema) {
		this.schema = schema;
	}

	public Map<String, PgBusProperties.TableListener> getStreams() {
		return this.streams;
	}

	public int getConcurrency() {
		return this.concurrency;
	}

	public void setConcurrency(int concurrency) {
		this.concurrency = concurrency;
	}

	public int getBatchSize() {
		return this.batchSize;
	}

	public void setBatchSize(int batchSize) {
		this.batchSize = batchSize;
	}

}
