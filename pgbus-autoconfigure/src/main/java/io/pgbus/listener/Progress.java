package io.pgbus.listener;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import io.pgbus.store.Claim;
import io.pgbus.store.StoredEvent;
import org.jspecify.annotations.Nullable;

/**
 * How far a worker is with the events of one read.
 */
final class Progress {

	private long position;

	private final List<Long> handled;

	private final Set<String> heldKeys = new HashSet<>();

	Progress(Claim claim) {
		this.position = claim.position();
		this.handled = new ArrayList<>(claim.done());
	}

	/** These, and all before them, are dealt with. */
	void dealtWith(List<StoredEvent> events) {
		this.position = events.get(events.size() - 1).id();
	}

	/** These have ledger rows, which can go once the position is saved. */
	void entered(List<StoredEvent> events) {
		events.forEach((event) -> this.handled.add(event.id()));
	}

	/** All that was read is dealt with. */
	void finished(Claim claim) {
		this.position = claim.readingTo();
	}

	/** An event with this key has failed: later ones are held. */
	void hold(@Nullable String key) {
		if (key != null) {
			this.heldKeys.add(key);
		}
	}

	boolean isHeld(StoredEvent event) {
		return event.held() || (event.key() != null && this.heldKeys.contains(event.key()));
	}

	long position() {
		return this.position;
	}

	/**
	 * Events up to the position whose ledger rows can go with it. Those that were done
	 * before this read may be above it, and must be found by the next.
	 */
	List<Long> handled() {
		return this.handled.stream().filter((id) -> id <= this.position).toList();
	}

}
