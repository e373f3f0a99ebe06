package io.pgbus.replication;

import java.time.Duration;

import io.pgbus.store.BackfillTrimmer;
import io.pgbus.store.ChangeStreamTrimmer;
import io.pgbus.store.Rounds;
import io.pgbus.store.TableListenerStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the instance that captures does now and then: frees the streams of tables of what
 * all groups have passed, forgets what backfills have read, and takes tables out of the
 * publications that no group listens to any more.
 *
 * @since 0.1.0
 */
public final class CaptureMaintenance implements AutoCloseable {

	private static final Logger logger = LoggerFactory.getLogger(CaptureMaintenance.class);

	private final Capture capture;

	private final ChangeStreamTrimmer trimmer;

	private final BackfillTrimmer backfills;

	private final TableListenerStore listeners;

	private final Publications publications;

	private final Rounds rounds;

	private boolean failing;

	/**
	 * Creates the maintenance, which does nothing until it is started.
	 * @param capture captures
	 * @param trimmer frees streams
	 * @param backfills forgets which rows were read
	 * @param listeners which groups listen to which tables
	 * @param publications has the tables
	 * @param interval the time between two rounds
	 */
	public CaptureMaintenance(Capture capture, ChangeStreamTrimmer trimmer, BackfillTrimmer backfills,
			TableListenerStore listeners, Publications publications, Duration interval) {
		this.capture = capture;
		this.trimmer = trimmer;
		this.backfills = backfills;
		this.listeners = listeners;
		this.publications = publications;
		this.rounds = new Rounds("pgbus-capture-maintenance", interval, this::tryRound, () -> {
		});
	}

	/**
	 * Starts the rounds, in a thread of its own. Does nothing if it has started.
	 */
	public void start() {
		this.rounds.start();
	}

	private void tryRound() {
		if (!this.capture.status().isLeader()) {
			return;
		}
		try {
			this.trimmer.trim();
			this.backfills.trim();
			dropUnused();
			this.failing = false;
		}
		catch (RuntimeException ex) {
			if (!this.failing) {
				logger.warn("The streams of tables could not be looked after, which is tried again: {}",
						ex.getMessage(), ex);
			}
			this.failing = true;
		}
	}

	/** A group that subscribes meanwhile adds its table again afterwards. */
	private void dropUnused() {
		if (this.publications.hasUnused(this.listeners.subscriptions())) {
			this.listeners.runWhileTheyStay(this.publications::dropUnused);
		}
	}

	/**
	 * Ends the rounds, and waits for one that is under way.
	 */
	@Override
	public void close() {
		this.rounds.close();
	}

}
