package io.pgbus.listener;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;

import io.pgbus.Event;
import io.pgbus.UnreadableEventException;
import io.pgbus.store.Claim;
import io.pgbus.store.FailureStore;
import io.pgbus.store.FailureStore.Due;
import io.pgbus.store.FailureStore.Failure;
import io.pgbus.store.Holder;
import io.pgbus.store.StoredEvent;
import org.jspecify.annotations.Nullable;

/**
 * Handles the events of one read, and the failed events of the same cursor that are due.
 */
final class ClaimRun {

	private final ContainerWork work;

	private final Holder holder;

	private final Claim claim;

	private final FirstFailures failures;

	private final Progress progress;

	private @Nullable Set<Long> done;

	ClaimRun(ContainerWork work, Holder holder, Claim claim) {
		this(work, holder, claim, FirstFailures.of(work.failures()));
	}

	ClaimRun(ContainerWork work, Holder holder, Claim claim, FirstFailures failures) {
		this.work = work;
		this.holder = holder;
		this.claim = claim;
		this.failures = failures;
		this.progress = new Progress(claim);
	}

	Progress progress() {
		return this.progress;
	}

	/**
	 * Tries failed events again, as many as a read has at most, so that they do not keep
	 * the others waiting for ever. Success gives the next event of the key its turn, so
	 * what is due is looked at until nothing is.
	 */
	void tryDueAgain() {
		doneElsewhere();
		int left = this.work.batchSize();
		while (left > 0) {
			List<Due> dues = this.work.failures().due(this.claim, this.work.types(), left);
			if (dues.isEmpty()) {
				return;
			}
			for (Due due : dues) {
				if (!this.work.goesOn()) {
					return;
				}
				tryAgain(due);
				left--;
			}
		}
	}

	/**
	 * Handles what was read, in order.
	 * @return whether all of it is dealt with; {@code false} if the container stops
	 */
	boolean deliver() {
		return deliver(() -> false);
	}

	/**
	 * Handles what was read, in order.
	 * @param isLongEnough whether the rest is to be left for another read, asked when
	 * something is done
	 * @return whether all of it is dealt with; {@code false} if the rest is left, or if
	 * the container stops
	 */
	boolean deliver(BooleanSupplier isLongEnough) {
		Map<Long, Throwable> known = new HashMap<>();
		Deque<StoredEvent> rest = new ArrayDeque<>(wanted(known));
		int size = this.work.groupSize();
		while (!rest.isEmpty()) {
			if (!this.work.goesOn()
					|| (this.progress.position() > this.claim.position() && isLongEnough.getAsBoolean())) {
				return false;
			}
			if (this.progress.isHeld(rest.element())) {
				hold(rest);
				continue;
			}
			Throwable reason = known.remove(rest.element().id());
			if (reason != null) {
				failed(rest.remove(), reason);
				continue;
			}
			List<StoredEvent> group = take(rest, size, known);
			HandlerFailure failure = this.work.attempt(group.get(0).id(),
					() -> this.work.delivery().deliver(this.claim, this.holder, group));
			if (failure == null) {
				handled(group);
				size = Math.min(size * 2, this.work.groupSize());
			}
			else if (group.size() == 1) {
				failed(group.get(0), failure.reason());
			}
			else {
				// undone as a whole: do it again without the one that failed, or search
				// for it
				putBack(group, rest);
				if (failure.index() == HandlerFailure.UNKNOWN) {
					size = group.size() / 2;
				}
				else {
					known.put(group.get(failure.index()).id(), failure.reason());
				}
			}
		}
		this.progress.finished(this.claim);
		return true;
	}

	/**
	 * Asks the filter where the read has not done so. An event it fails on is treated as
	 * one that the handler fails on.
	 */
	private List<StoredEvent> wanted(Map<Long, Throwable> known) {
		ContainerWork.Filter filter = this.work.filter();
		List<StoredEvent> undone = undone();
		if (this.claim.isFiltered() || filter == null) {
			return undone;
		}
		List<StoredEvent> wanted = new ArrayList<>();
		for (StoredEvent event : undone) {
			HandlerFailure failure = this.work.attempt(event.id(), () -> {
				try {
					if (filter.matches(this.claim, event)) {
						wanted.add(event);
					}
				}
				catch (RuntimeException ex) {
					throw new HandlerFailure(ex, 1);
				}
			});
			if (failure != null) {
				known.put(event.id(), new UnreadableEventException(
						"The filter of the listener fails on event " + event.id(), failure.reason()));
				wanted.add(event);
			}
		}
		return wanted;
	}

	private List<StoredEvent> undone() {
		if (this.claim.events().isEmpty()) {
			return List.of();
		}
		Set<Long> done = doneElsewhere();
		return done.isEmpty() ? this.claim.events()
				: this.claim.events().stream().filter((event) -> !done.contains(event.id())).toList();
	}

	private Set<Long> doneElsewhere() {
		Set<Long> ids = this.done;
		if (ids == null) {
			ids = this.work.delivery().takeUp(this.claim);
			this.done = ids;
		}
		return ids;
	}

	private void hold(Deque<StoredEvent> rest) {
		List<StoredEvent> held = new ArrayList<>();
		while (!rest.isEmpty() && this.progress.isHeld(rest.element())) {
			held.add(rest.remove());
		}
		if (!this.failures.hold(this.claim, held)) {
			throw new LostCursorException("It was taken over");
		}
		this.progress.dealtWith(held);
	}

	/** Takes events up to one that is held, or that is known to fail. */
	private List<StoredEvent> take(Deque<StoredEvent> rest, int size, Map<Long, Throwable> known) {
		List<StoredEvent> group = new ArrayList<>();
		while (!rest.isEmpty() && group.size() < size && !this.progress.isHeld(rest.element())
				&& !known.containsKey(rest.element().id())) {
			group.add(rest.remove());
		}
		return group;
	}

	private static void putBack(List<StoredEvent> group, Deque<StoredEvent> rest) {
		List<StoredEvent> reversed = new ArrayList<>(group);
		Collections.reverse(reversed);
		reversed.forEach(rest::addFirst);
	}

	private void handled(List<StoredEvent> group) {
		this.progress.dealtWith(group);
		if (this.work.delivery().usesLedger()) {
			this.progress.entered(group);
		}
	}

	private void failed(StoredEvent stored, Throwable reason) {
		Event<String> event = this.work.handler().asText(this.claim, stored, 1);
		Failure failure = this.work.policy().decide(event, reason);
		if (failure != null) {
			StoredEvent recorded = this.failures.record(this.claim, stored, failure);
			if (recorded == null) {
				throw new LostCursorException("It was taken over, or event " + stored.id() + " is done after all");
			}
			if (failure.holdsKey()) {
				this.progress.hold(stored.key());
			}
			this.work.policy().recorded(this.work.handler().asText(this.claim, recorded, 1), failure, reason);
		}
		this.progress.dealtWith(List.of(stored));
	}

	private void tryAgain(Due due) {
		StoredEvent stored = due.event();
		Event<String> event = this.work.handler().asText(this.claim, stored, due.attempts() + 1);
		HandlerFailure failure = this.work.handles(stored.type())
				? this.work.attempt(stored.id(), () -> this.work.delivery().deliverAgain(this.claim, this.holder, due))
				: new HandlerFailure(noHandler(stored), 1);
		if (failure == null) {
			return;
		}
		Failure decided = this.work.policy().decide(event, failure.reason());
		boolean held = (decided != null) ? this.work.failures().recordAgain(this.claim, due, decided)
				: this.work.failures().resolve(this.claim, due);
		if (!held) {
			throw new LostCursorException("It was taken over while failed event " + stored.id() + " was tried");
		}
		if (decided != null) {
			this.work.policy().recorded(event, decided, failure.reason());
		}
	}

	private static UnreadableEventException noHandler(StoredEvent stored) {
		return new UnreadableEventException(
				"No listener of the group handles events of type \"" + stored.type() + "\" any more", null);
	}

}
