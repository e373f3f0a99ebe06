package io.pgbus.autoconfigure;

import java.time.Duration;
import java.util.Locale;

import io.pgbus.replication.CaptureSettings;
import io.pgbus.replication.GapPolicy;
import org.jspecify.annotations.Nullable;

import org.springframework.util.unit.DataSize;

/**
 * The capture of changes of tables.
 *
 * @since 0.1.0
 */
public class PgBusCaptureProperties {

	/** With something behind it, it is still a name. */
	private static final int MAX_NAME = 50;

	/**
	 * Whether this instance may capture changes of tables, for listeners of all
	 * instances. It does if it has table listeners.
	 */
	private boolean enabled = true;

	/**
	 * JDBC URL to read changes from, if the DataSource goes through a pooler. By default
	 * that of the DataSource.
	 */
	private @Nullable String url;

	/**
	 * User to read changes as, who needs the right to replicate. By default that of the
	 * DataSource.
	 */
	private @Nullable String username;

	/**
	 * Password of the user to read changes as. By default that of the DataSource.
	 */
	private @Nullable String password;

	/**
	 * Name of the replication slot, of which a server has one for all of its databases.
	 * By default the name of the bus's schema, with underscores for what a slot's name
	 * cannot have; with an outbox the name of its schema and of the database.
	 */
	private @Nullable String slot;

	/**
	 * Name of the publication. By default the name of the bus's schema, or of the
	 * outbox's.
	 */
	private @Nullable String publication;

	/**
	 * Whether a new slot is kept in sync on standby servers, from PostgreSQL 17 on.
	 */
	private boolean failover = CaptureSettings.DEFAULTS.failover();

	/**
	 * What to do when the server no longer has changes that were not read.
	 */
	private GapPolicy onGap = CaptureSettings.DEFAULTS.onGap();

	/**
	 * Most changes that are appended in one transaction.
	 */
	private int batchRows = CaptureSettings.DEFAULTS.batchRows();

	/**
	 * Most bytes of changes that are appended in one transaction, unless one change has
	 * more.
	 */
	private DataSize batchBytes = DataSize.ofBytes(CaptureSettings.DEFAULTS.batchBytes());

	/**
	 * How often the server is told how far the capture is. Must be well below its
	 * wal_sender_timeout.
	 */
	private Duration statusInterval = CaptureSettings.DEFAULTS.statusInterval();

	/**
	 * How often an idle capture moves its slot on, so that the server need not keep what
	 * others write.
	 */
	private Duration heartbeatInterval = CaptureSettings.DEFAULTS.heartbeatInterval();

	/**
	 * How often an instance that stands by tries to take the capture over.
	 */
	private Duration standbyInterval = CaptureSettings.DEFAULTS.standbyInterval();

	/**
	 * Time that one statement with the filters of table listeners may take.
	 */
	private Duration filterTimeout = Duration.ofSeconds(30);

	/**
	 * How often change streams are freed of what all groups have passed.
	 */
	private Duration trimInterval = Duration.ofSeconds(30);

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

	public @Nullable String getSlot() {
		return this.slot;
	}

	public void setSlot(@Nullable String slot) {
		this.slot = slot;
	}

	public @Nullable String getPublication() {
		return this.publication;
	}

	public void setPublication(@Nullable String publication) {
		this.publication = publication;
	}

	public boolean isFailover() {
		return this.failover;
	}

	public void setFailover(boolean failover) {
		this.failover = failover;
	}

	public GapPolicy getOnGap() {
		return this.onGap;
	}

	public void setOnGap(GapPolicy onGap) {
		this.onGap = onGap;
	}

	public int getBatchRows() {
		return this.batchRows;
	}

	public void setBatchRows(int batchRows) {
		this.batchRows = batchRows;
	}

	public DataSize getBatchBytes() {
		return this.batchBytes;
	}

	public void setBatchBytes(DataSize batchBytes) {
		this.batchBytes = batchBytes;
	}

	public Duration getStatusInterval() {
		return this.statusInterval;
	}

	public void setStatusInterval(Duration statusInterval) {
		this.statusInterval = statusInterval;
	}

	public Duration getHeartbeatInterval() {
		return this.heartbeatInterval;
	}

	public void setHeartbeatInterval(Duration heartbeatInterval) {
		this.heartbeatInterval = heartbeatInterval;
	}

	public Duration getStandbyInterval() {
		return this.standbyInterval;
	}

	public void setStandbyInterval(Duration standbyInterval) {
		this.standbyInterval = standbyInterval;
	}

	public Duration getFilterTimeout() {
		return this.filterTimeout;
	}

	public void setFilterTimeout(Duration filterTimeout) {
		this.filterTimeout = filterTimeout;
	}

	public Duration getTrimInterval() {
		return this.trimInterval;
	}

	public void setTrimInterval(Duration trimInterval) {
		this.trimInterval = trimInterval;
	}

	CaptureSettings toSettings(String publication, String slot) {
		return new CaptureSettings((this.slot != null) ? this.slot : nameOf(slot),
				(this.publication != null) ? this.publication : nameOf(publication), this.failover, this.onGap,
				this.batchRows, Math.toIntExact(this.batchBytes.toBytes()), this.statusInterval, this.heartbeatInterval,
				this.standbyInterval);
	}

	/** A slot's name has fewer characters than others may have. */
	private static String nameOf(String text) {
		String name = text.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9_]", "_");
		return name.substring(0, Math.min(name.length(), MAX_NAME));
	}

}
