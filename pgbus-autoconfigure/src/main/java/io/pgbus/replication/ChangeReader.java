package io.pgbus.replication;

import java.nio.ByteBuffer;
import java.sql.SQLException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.pgbus.store.CapturePosition;
import org.postgresql.replication.LogSequenceNumber;
import org.postgresql.replication.PGReplicationStream;

/**
 * Reads the stream of changes until it is stopped, and answers the server meanwhile: also
 * while there is nothing to read, and while there is no room for what was read.
 */
final class ChangeReader {

	/** How long an idle stream is left alone, at most. */
	private static final int MAX_PAUSE_MILLIS = 20;

	private final PgOutputDecoder decoder = new PgOutputDecoder();

	private final ReplicationSession session;

	private final PGReplicationStream stream;

	private final ChangeAppender appender;

	private final CaptureProgress progress;

	private final CountDownLatch stop;

	private final BatchBuilder batch;

	private final long statusNanos;

	private long toldAt = System.nanoTime();

	private long handedOver;

	private int pauseMillis;

	/**
	 * Creates a reader.
	 * @param session the session of the stream
	 * @param stream the stream
	 * @param from the place up to which all changes are appended
	 * @param settings the settings
	 * @param appender takes the batches
	 * @param progress is told of what is read, and knows what may be confirmed
	 * @param stop ends the reading
	 */
	ChangeReader(ReplicationSession session, PGReplicationStream stream, CapturePosition from, CaptureSettings settings,
			ChangeAppender appender, CaptureProgress progress, CountDownLatch stop) {
		this.session = session;
		this.stream = stream;
		this.appender = appender;
		this.progress = progress;
		this.stop = stop;
		this.batch = new BatchBuilder(from, settings);
		this.statusNanos = settings.statusInterval().toNanos();
		this.handedOver = progress.confirmed();
	}

	/**
	 * Reads until it is stopped.
	 * @throws SQLException if the connection is lost
	 * @throws InterruptedException if interrupted
	 */
	void run() throws SQLException, InterruptedException {
		while (isRunning()) {
			ByteBuffer message = this.stream.readPending();
			if (message != null) {
				this.pauseMillis = 0;
				int size = message.remaining();
				this.batch.add(this.decoder.decode(message), size);
				if (this.batch.isFull()) {
					handOver();
				}
			}
			else {
				nothingPending();
			}
			tellServer();
		}
	}

	/** Stops, also where the appender has: who started both finds out why. */
	private boolean isRunning() {
		return this.stop.getCount() > 0 && this.appender.failure() == null;
	}

	/**
	 * A batch grows as long as the one before is being appended. What the server has
	 * passed without a change for us is worth saving only once it is much.
	 */
	private void nothingPending() throws SQLException, InterruptedException {
		if (!this.batch.isInTransaction()) {
			this.batch.readTo(this.stream.getLastReceiveLSN().asLong());
			boolean worth = this.batch.read() - this.handedOver > ChangeAppender.WORTH_CONFIRMING;
			if (!this.appender.isBusy() && (worth || !this.batch.isEmpty())) {
				handOver();
				return;
			}
		}
		this.pauseMillis = Math.min(this.pauseMillis + 1, MAX_PAUSE_MILLIS);
		this.stop.await(this.pauseMillis, TimeUnit.MILLISECONDS);
	}

	private void handOver() throws SQLException, InterruptedException {
		this.session.checkNothingWasSkipped();
		ChangeBatch next = this.batch.take();
		while (isRunning() && !this.appender.offer(next)) {
			tellServer();
		}
		this.handedOver = next.read();
	}

	/** Asks for an answer as well, which says how far the server has read its log. */
	private void tellServer() throws SQLException {
		if (System.nanoTime() - this.toldAt >= this.statusNanos) {
			this.toldAt = System.nanoTime();
			LogSequenceNumber confirmed = LogSequenceNumber.valueOf(this.progress.confirmed());
			this.stream.setFlushedLSN(confirmed);
			this.stream.setAppliedLSN(confirmed);
			this.stream.forceUpdateStatus();
			this.progress.received(this.stream.getLastReceiveLSN().asLong());
		}
	}

}
