package io.pgbus.autoconfigure;

import java.time.Duration;

import io.pgbus.store.BackfillSettings;
import org.jspecify.annotations.Nullable;

import org.springframework.util.unit.DataSize;

/**
 * How rows are read from tables.
 *
 * @since 0.1.0
 */
public class PgBusBackfillProperties {

	/**
	 * Most rows that are read at once. A worker keeps them in memory.
	 */
	private int chunkRows = BackfillSettings.DEFAULTS.chunkRows();

	/**
	 * Most bytes that are read at once, unless one row has more.
	 */
	private DataSize chunkBytes = DataSize.ofBytes(BackfillSettings.DEFAULTS.chunkBytes());

	/**
	 * Most rows that one backfill reads in a second, on the average, by all instances
	 * together. By default there is no limit.
	 */
	private @Nullable Integer rowsPerSecond = BackfillSettings.DEFAULTS.rowsPerSecond();

	/**
	 * Time that one read may take.
	 */
	private Duration statementTimeout = BackfillSettings.DEFAULTS.timeout();

	public int getChunkRows() {
		return this.chunkRows;
	}

	public void setChunkRows(int chunkRows) {
		this.chunkRows = chunkRows;
	}

	public DataSize getChunkBytes() {
		return this.chunkBytes;
	}

	public void setChunkBytes(DataSize chunkBytes) {
		this.chunkBytes = chunkBytes;
	}

	public @Nullable Integer getRowsPerSecond() {
		return this.rowsPerSecond;
	}

	public void setRowsPerSecond(@Nullable Integer rowsPerSecond) {
		this.rowsPerSecond = rowsPerSecond;
	}

	public Duration getStatementTimeout() {
		return this.statementTimeout;
	}

	public void setStatementTimeout(Duration statementTimeout) {
		this.statementTimeout = statementTimeout;
	}

	BackfillSettings toSettings() {
		return new BackfillSettings(this.chunkRows, this.chunkBytes.toBytes(), this.rowsPerSecond,
				this.statementTimeout);
	}

}
