package io.pgbus.store;

import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * What one read of a backfill found.
 *
 * @param query what was read
 * @param snapshot the snapshot of the read, or {@code null} if there were no rows
 * @param images the rows as text, in the order of the primary key
 * @param keys their primary keys as text
 * @param isLast whether there are no rows behind them
 */
record ChunkRows(BackfillQuery query, @Nullable String snapshot, List<RowImage> images, List<String[]> keys,
		boolean isLast) {

	String[] lastKey() {
		return this.keys.get(this.keys.size() - 1);
	}

}
