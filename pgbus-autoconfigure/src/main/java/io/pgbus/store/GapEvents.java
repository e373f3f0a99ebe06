package io.pgbus.store;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import io.pgbus.TableOperation;

/**
 * Makes the events that tell groups of a gap.
 */
final class GapEvents {

	private GapEvents() {
	}

	/**
	 * Makes an event for each table of which a group listens to gaps.
	 * @param subscriptions all subscriptions
	 * @param reason why changes were missed
	 * @param from up to where there was none
	 * @param to from where on there is none
	 * @return the events
	 */
	static List<ChangeEvent> of(List<TableSubscription> subscriptions, String reason, String from, String to) {
		Map<Integer, TableSubscription> tables = new LinkedHashMap<>();
		Map<Integer, Map<Integer, String>> outcomes = new LinkedHashMap<>();
		for (TableSubscription subscription : subscriptions) {
			if (subscription.operations().contains(TableOperation.GAP)) {
				tables.putIfAbsent(subscription.streamId(), subscription);
				outcomes.computeIfAbsent(subscription.streamId(), (key) -> new LinkedHashMap<>())
					.put(subscription.groupId(), ChangeRule.IN);
			}
		}
		List<ChangeEvent> events = new ArrayList<>();
		tables.forEach((streamId, table) -> {
			String headers = ChangePayload.headers(outcomes.getOrDefault(streamId, Map.of()));
			events.add(new ChangeEvent(
					new ChangeEvent.Kind(
							streamId, table.partitions(), TableOperation.GAP.name().toLowerCase(Locale.ROOT), headers),
					ChangePayload.NO_KEY,
					new ChangePayload().text("table", table.qualifiedName())
						.text("reason", reason)
						.text("from", from)
						.text("to", to)
						.toString()));
		});
		return events;
	}

}
