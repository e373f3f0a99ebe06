package io.pgbus.store;

import java.time.Duration;
import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks after the segments of the log now and then, on one instance at a time: makes the
 * next segment ahead of time, begins it, and drops those whose events are not to be kept
 * any longer. That instance holds a lease, which is a row with a time in it, so that no
 * connection is held for it.
 *
 * @since 0.1.0
 */
public final class RetentionMaintenance implements AutoCloseable {

	private static final Logger logger = LoggerFactory.getLogger(RetentionMaintenance.class);

	/** A step takes much less. */
	private static final Duration SHORTEST_LEASE = Duration.ofMinutes(2);

	private final RetentionStore store;

	private final RetentionRound round;

	private final String holder = UUID.randomUUID().toString();

	private final Duration lease;

	private boolean failing;

	private boolean knownToHaveNoRights;

	private volatile @Nullable String trouble;

	private volatile boolean hasLease;

	private final Rounds rounds;

	/**
	 * Creates the maintenance, which does nothing until it is started.
	 * @param database the database
	 * @param settings how
	 */
	public RetentionMaintenance(BusDatabase database, RetentionSettings settings) {
		this.store = new RetentionStore(database);
		Duration twice = settings.interval().multipliedBy(2);
		this.lease = (twice.compareTo(SHORTEST_LEASE) > 0) ? twice : SHORTEST_LEASE;
		this.round = new RetentionRound(database, settings, this::goesOn);
		this.rounds = new Rounds("pgbus-retention", settings.interval(), this::tryRound, this::endLease);
	}

	/**
	 * Starts the rounds, in a thread of its own, the first after one interval. Does
	 * nothing if it has started.
	 */
	public void start() {
		this.rounds.start();
	}

	/**
	 * Returns why this instance does not look after the segments.
	 * @return what is wrong and what to do, or {@code null} if nothing is known to be
	 */
	public @Nullable String trouble() {
		return this.trouble;
	}

	/**
	 * Returns what this instance has done.
	 * @return the totals since it started
	 */
	public RetentionTotals totals() {
		RetentionTotals totals = this.round.totals();
		return this.hasLease ? totals : totals.asBystander();
	}

	private void endLease() {
		try {
			this.store.endLease(this.holder);
		}
		catch (RuntimeException ex) {
			logger.debug("The lease could not be given back; it will run out", ex);
		}
	}

	/** Runs a round, if it is this instance's turn. */
	void tryRound() {
		try {
			if (!mayAlterTheLog()) {
				return;
			}
			this.hasLease = this.store.takeLease(this.holder, this.lease);
			if (this.hasLease) {
				RetentionRound.Done done = this.round.run();
				if (done.dropped() > 0 || done.deleted() > 0) {
					logger.info("Dropped {} segment(s) of the log, deleted {} event(s) from others", done.dropped(),
							done.deleted());
				}
			}
			// what was wrong here is another instance's business now, or is mended
			this.failing = false;
			this.trouble = null;
		}
		catch (RuntimeException ex) {
			if (!this.failing) {
				logger.warn("The segments of the log could not be looked after, which is tried again: {}",
						ex.getMessage(), ex);
			}
			this.failing = true;
			this.trouble = "The segments of the log could not be looked after: " + ex.getMessage();
		}
	}

	private boolean mayAlterTheLog() {
		boolean may = this.store.isOwner();
		if (!may && !this.knownToHaveNoRights) {
			this.trouble = "The role of this instance does not own the bus's schema, so that it cannot make and drop "
					+ "segments of the log. Another instance must, whose role owns it; see \"Segments\" in "
					+ "docs/operations.md.";
			logger.info("{}", this.trouble);
		}
		this.knownToHaveNoRights = !may;
		return may;
	}

	private boolean goesOn() {
		return !this.rounds.isClosing() && this.store.takeLease(this.holder, this.lease);
	}

	/**
	 * Ends the rounds, and waits for one that is under way.
	 */
	@Override
	public void close() {
		this.rounds.close();
	}

}
