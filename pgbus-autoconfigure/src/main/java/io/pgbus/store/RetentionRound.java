package io.pgbus.store;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.pgbus.store.SegmentContents.Deleted;
import io.pgbus.store.SegmentContents.StreamIn;
import io.pgbus.store.SegmentContents.Unread;
import io.pgbus.store.SegmentStore.Segment;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;
import org.springframework.dao.QueryTimeoutException;

/**
 * What is to be done about the segments of the log, one round at a time. A round that
 * ends half-way, or runs on two instances, does no harm: each step looks at what is, and
 * what was begun is marked and gone on with.
 * <p>
 * <b>Invariant.</b> A segment goes only if it is complete, all its streams keep their
 * events for a time that is over, and what groups have not passed may go by the settings.
 */
final class RetentionRound {

	private static final Logger logger = LoggerFactory.getLogger(RetentionRound.class);

	private final SegmentStore segments;

	private final SegmentContents contents;

	private final RetentionStore retention;

	private final IdleCursors idle;

	private final RetentionSettings settings;

	/** Asked before each step: whether to go on. */
	private final Lease lease;

	/** What was logged of segments that cannot go. */
	private final Map<Long, String> held = new HashMap<>();

	private volatile RetentionTotals totals = new RetentionTotals(null, 0, 0, 0);

	RetentionRound(BusDatabase database, RetentionSettings settings, Lease lease) {
		this.segments = new SegmentStore(database);
		this.contents = new SegmentContents(database);
		this.retention = new RetentionStore(database);
		this.idle = new IdleCursors(database);
		this.settings = settings;
		this.lease = lease;
	}

	/**
	 * Does all that can be done now.
	 * @return what was done
	 */
	Done run() {
		Counter done = new Counter();
		try {
			run(done);
		}
		finally {
			this.totals = this.totals.plus(done.segments, done.dropped, done.deleted, done.unread);
		}
		return new Done(done.rolled, done.dropped, done.deleted, done.unread);
	}

	/** What all rounds have done. */
	RetentionTotals totals() {
		return this.totals;
	}

	private void run(Counter done) {
		this.retention.seeGroups();
		this.segments.settle();
		long current = this.segments.lastId() / SegmentStore.SIZE;
		if (this.segments.segments().stream().noneMatch((segment) -> segment.number() > current)) {
			long made = this.segments.make();
			logger.debug("Made segment {}", made);
			this.segments.settle();
		}
		done.rolled = roll(current);
		this.idle.moveOn(current * SegmentStore.SIZE);
		List<Segment> all = this.segments.segments();
		for (Segment segment : all) {
			if (!this.lease.goesOn()) {
				break;
			}
			if (segment.dropping()) {
				drop(segment, done);
			}
			else if (segment.attached() && segment.complete()) {
				review(segment, done);
			}
		}
		done.segments = all.size() - done.dropped;
		this.contents.forgetKept();
	}

	private boolean roll(long current) {
		Segment segment = this.segments.segments()
			.stream()
			.filter((it) -> it.number() == current)
			.findFirst()
			.orElse(null);
		long ids = this.segments.lastId() - current * SegmentStore.SIZE;
		if (segment == null || ids <= 0) {
			return false;
		}
		boolean isFull = ids >= this.settings.segmentEvents();
		boolean isOld = segment.age().compareTo(this.settings.segmentDuration()) >= 0 && this.segments.keepsForATime();
		return (isFull || isOld) && this.segments.roll(current);
	}

	private void review(Segment segment, Counter done) {
		List<StreamIn> streams = this.contents.streams(segment.number());
		List<StreamIn> expired = streams.stream().filter((stream) -> stream.isExpired(segment)).toList();
		boolean mayGo = expired.size() == streams.size();
		List<StreamIn> free = new ArrayList<>();
		List<Unread> dropped = new ArrayList<>();
		List<Unread> holding = new ArrayList<>();
		for (StreamIn stream : expired) {
			List<Unread> unread = this.contents.unread(segment.number(), stream, this.settings.abandonedAfter());
			List<Unread> holders = unread.stream().filter((it) -> !mayBeDropped(it, stream)).toList();
			if (holders.isEmpty()) {
				free.add(stream);
				dropped.addAll(unread);
			}
			holding.addAll(holders);
		}
		report(segment, holding);
		if (mayGo && holding.isEmpty()) {
			done.unread += reportDropped(segment, dropped);
			int kept = this.contents.giveUp(segment);
			if (kept > 0) {
				logger.info("Segment {} of the log goes; {} event(s) that have failed are kept", segment.number(),
						kept);
			}
			drop(segment, done);
		}
		else if (!mayGo) {
			done.unread += reportDropped(segment, dropped);
			free.forEach((stream) -> done.deleted += delete(segment, stream));
		}
	}

	private boolean mayBeDropped(Unread unread, StreamIn stream) {
		return (unread.abandoned() && this.settings.dropAbandoned())
				|| (this.settings.dropUnread() && !stream.isKeptUntilConsumed());
	}

	private void report(Segment segment, List<Unread> holding) {
		if (holding.isEmpty()) {
			this.held.remove(segment.number());
			return;
		}
		String holders = String.join(", ", holding.stream()
			.map((it) -> it.group() + (it.abandoned() ? " (which seems to be abandoned)" : "") + " in " + it.stream())
			.toList());
		if (!holders.equals(this.held.put(segment.number(), holders))) {
			logger.info(
					"Events of segment {} of the log are older than they need to be, but stay, as these groups have not read them: {}",
					segment.number(), holders);
		}
	}

	private long reportDropped(Segment segment, List<Unread> dropped) {
		dropped
			.forEach((it) -> logger.warn("{}{} event(s) of {} go with segment {} of the log that group {} has not read",
					it.areMore() ? "At least " : "", it.events(), it.stream(), segment.number(), it.group()));
		return dropped.stream().mapToLong(Unread::events).sum();
	}

	private long delete(Segment segment, StreamIn stream) {
		long removed = 0;
		Deleted deleted = null;
		while (this.lease.goesOn() && (deleted = this.contents.delete(segment.number(), stream, deleted)) != null) {
			removed += deleted.removed();
		}
		return removed;
	}

	/**
	 * Goes on where it was interrupted. What has to wait is tried in the next round, and
	 * the others with it, since one is detached at a time.
	 */
	private void drop(Segment segment, Counter done) {
		if (done.blocked) {
			return;
		}
		try {
			if (segment.attached() && segment.detaching()) {
				this.segments.finishDetach(segment.number());
			}
			else if (segment.attached()) {
				this.segments.detach(segment.number());
			}
			this.segments.drop(segment.number());
			logger.debug("Dropped segment {}", segment.number());
			done.dropped++;
		}
		catch (DataAccessException ex) {
			if (!hasWaited(ex)) {
				throw ex;
			}
			logger.debug("Segment {} cannot be dropped yet, as a transaction is looking at the log", segment.number(),
					ex);
			done.blocked = true;
		}
	}

	static boolean hasWaited(DataAccessException ex) {
		return ex instanceof QueryTimeoutException || DatabaseTrouble.isLockTimeout(ex);
	}

	/**
	 * Tells whether this instance still is the one that looks after the segments.
	 */
	@FunctionalInterface
	interface Lease {

		boolean goesOn();

	}

	/**
	 * What a round has done.
	 *
	 * @param rolled whether a new segment was begun
	 * @param dropped how many segments were dropped
	 * @param deleted how many events were deleted from segments that stay
	 * @param unread how many events have gone that a group had not read, as far as they
	 * were counted
	 */
	record Done(boolean rolled, int dropped, long deleted, long unread) {

	}

	private static final class Counter {

		private @Nullable Integer segments;

		private boolean rolled;

		private int dropped;

		private boolean blocked;

		private long deleted;

		private long unread;

	}

}
