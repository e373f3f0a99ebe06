package io.pgbus.listener;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

import io.pgbus.Event;
import io.pgbus.core.EventConverter;
import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore;
import io.pgbus.store.PullStore;
import io.pgbus.store.StoredEvent;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;

/**
 * Collects events for a pull consumer from one cursor after the other.
 */
final class PullReader {

	private static final Logger logger = LoggerFactory.getLogger(PullReader.class);

	/** Reads that may find nothing to give, such as events before the group's start. */
	private static final int MAX_EMPTY_READS = 1000;

	private final PullStore pulls;

	private final FailureStore failures;

	private final EventConverter converter;

	PullReader(PullStore pulls, FailureStore failures, EventConverter converter) {
		this.pulls = pulls;
		this.failures = failures;
		this.converter = converter;
	}

	/**
	 * Collects events.
	 * @param group the group
	 * @param consumer the consumer
	 * @param count the most events to collect
	 * @param claims claims a cursor for so many events, or gives {@code null}
	 * @return the events, which are pending for the consumer
	 */
	List<Event<String>> collect(String group, String consumer, int count, IntFunction<@Nullable Claim> claims) {
		List<Event<String>> events = new ArrayList<>();
		int emptyReads = 0;
		try {
			while (events.size() < count && emptyReads < MAX_EMPTY_READS) {
				Claim claim = claims.apply(count - events.size());
				if (claim == null) {
					break;
				}
				List<StoredEvent> given = withoutHeld(claim);
				given.forEach((event) -> events.add(this.converter.read(event, claim.stream(), claim.partition(), 1)));
				if (given.isEmpty()) {
					emptyReads++;
					this.pulls.settle(group, consumer);
				}
			}
		}
		catch (DataAccessException ex) {
			if (events.isEmpty()) {
				throw ex;
			}
			// they are pending by now: the caller must get them
			logger.warn("Consumer {} of group {} gets {} event(s), and would get more, but: {}", consumer, group,
					events.size(), ex.toString());
		}
		return events;
	}

	/** Puts events behind failed ones with the same key, as a listener would. */
	private List<StoredEvent> withoutHeld(Claim claim) {
		Map<Boolean, List<StoredEvent>> byHeld = new HashMap<>();
		claim.events().forEach((event) -> byHeld.computeIfAbsent(event.held(), (key) -> new ArrayList<>()).add(event));
		List<StoredEvent> held = byHeld.getOrDefault(true, List.of());
		if (!held.isEmpty() && !this.failures.hold(claim, held)) {
			// another's already
			return List.of();
		}
		return byHeld.getOrDefault(false, List.of());
	}

}
