package io.pgbus;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * A consumer group.
 *
 * @param name the name
 * @param paused whether its free cursors are not given to anyone
 * @param cursors its cursors, by stream and partition
 * @since 0.1.0
 */
public record GroupInfo(String name, boolean paused, List<CursorInfo> cursors) {

	public GroupInfo {
		cursors = List.copyOf(cursors);
	}

	/**
	 * Returns the streams of the group.
	 * @return their names
	 */
	public Set<String> streams() {
		Set<String> streams = new TreeSet<>();
		this.cursors.forEach((cursor) -> streams.add(cursor.stream()));
		return streams;
	}

	/**
	 * Returns how many events wait for the group.
	 * @return the sum of its cursors' {@link CursorInfo#estimatedLag() estimates}
	 */
	public long estimatedLag() {
		return this.cursors.stream().mapToLong(CursorInfo::estimatedLag).sum();
	}

}
