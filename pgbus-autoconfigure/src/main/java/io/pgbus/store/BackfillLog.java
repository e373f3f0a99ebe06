package io.pgbus.store;

import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import io.pgbus.BackfillInfo;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says in the log of this instance how far the backfills are that its workers read for:
 * after every tenth of the rows, but not more often than every five seconds, and at least
 * once a minute.
 */
final class BackfillLog {

	private static final Logger logger = LoggerFactory.getLogger(BackfillLog.class);

	private static final Duration SHORTEST = Duration.ofSeconds(5);

	private static final Duration LONGEST = Duration.ofMinutes(1);

	private static final double STEP = 0.1;

	private final BackfillReports reports;

	private final Map<Integer, Said> said = new ConcurrentHashMap<>();

	BackfillLog(BusDatabase database) {
		this.reports = new BackfillReports(database);
	}

	/** Rows were dealt with, which is committed. */
	void progressed(int backfillId) {
		if (logger.isInfoEnabled() && isLookDue(backfillId)) {
			this.reports.find(backfillId).ifPresent((info) -> look(backfillId, info));
		}
	}

	/** One thread looks. */
	private boolean isLookDue(int backfillId) {
		long now = System.nanoTime();
		Said before = this.said.putIfAbsent(backfillId, new Said(now, now, 0));
		return before != null && now - before.lookedNanos() >= SHORTEST.toNanos()
				&& this.said.replace(backfillId, before, new Said(now, before.saidNanos(), before.share()));
	}

	private void look(int backfillId, BackfillInfo info) {
		Said before = this.said.get(backfillId);
		Double share = info.share();
		long now = System.nanoTime();
		if (info.state() != BackfillInfo.State.RUNNING) {
			this.said.remove(backfillId);
		}
		else if (before != null && ((share != null && share >= before.share() + STEP)
				|| now - before.saidNanos() >= LONGEST.toNanos())) {
			logger.info(progress(info));
			this.said.put(backfillId, new Said(now, now, (share != null) ? share : 0));
		}
	}

	static String progress(BackfillInfo info) {
		Double share = info.share();
		Duration left = info.timeLeft();
		return "Backfill %d of %s for group %s has %d rows%s%s%s".formatted(info.id(), info.table(), info.group(),
				info.rowsRead(), (share != null) ? ", about %d %%".formatted((int) (share * 100)) : "",
				rate(info.rowsPerSecond()), (left != null) ? ", about " + time(left) + " left" : "");
	}

	/** A backfill comes to its end, in the transaction at hand. */
	void done(int backfillId) {
		this.said.remove(backfillId);
		if (logger.isInfoEnabled()) {
			this.reports.find(backfillId).ifPresent((info) -> logger.info(end(info)));
		}
	}

	static String end(BackfillInfo info) {
		String took = (info.startedAt() != null && info.finishedAt() != null)
				? " in " + time(Duration.between(info.startedAt(), info.finishedAt())) : "";
		return "Backfill %d of %s for group %s is done: %d rows%s%s".formatted(info.id(), info.table(), info.group(),
				info.rowsRead(), took, rate(info.rowsPerSecond()));
	}

	private static String rate(@Nullable Double rowsPerSecond) {
		return (rowsPerSecond != null) ? String.format(Locale.ROOT, ", %.0f rows per second", rowsPerSecond) : "";
	}

	private static String time(Duration time) {
		long seconds = Math.max(1, time.toSeconds());
		return (seconds < 120) ? seconds + " s" : (seconds < 7200) ? seconds / 60 + " min" : seconds / 3600 + " h";
	}

	/**
	 * What was said last.
	 *
	 * @param lookedNanos when it was looked at last
	 * @param saidNanos when something was said last
	 * @param share the share that was said last
	 */
	private record Said(long lookedNanos, long saidNanos, double share) {

	}

}
