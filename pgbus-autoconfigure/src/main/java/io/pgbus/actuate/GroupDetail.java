package io.pgbus.actuate;

import java.util.List;

import io.pgbus.store.CursorStatus;

/**
 * A group in all of its partitions.
 *
 * @param group the name of the group
 * @param cursors the cursors, by stream and partition, at most {@value #LIMIT}
 * @param backfills its backfills, newest first
 * @since 0.1.0
 */
public record GroupDetail(String group, List<CursorStatus> cursors, List<BackfillDetail> backfills) {

	static final int LIMIT = 2000;

}
