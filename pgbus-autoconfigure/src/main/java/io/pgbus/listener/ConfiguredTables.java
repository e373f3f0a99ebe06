package io.pgbus.listener;

import java.util.List;
import java.util.Map;

import io.pgbus.ListenedTable;

/**
 * Tables that the configuration gives to groups, in place of those that their listeners
 * name.
 *
 * @param byGroup the tables by the name of the group
 * @since 0.1.0
 */
public record ConfiguredTables(Map<String, List<ListenedTable>> byGroup) {

	/** No tables. */
	public static final ConfiguredTables NONE = new ConfiguredTables(Map.of());

	/**
	 * Copies the map.
	 */
	public ConfiguredTables {
		byGroup = Map.copyOf(byGroup);
	}

}
