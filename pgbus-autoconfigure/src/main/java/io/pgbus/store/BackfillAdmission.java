package io.pgbus.store;

import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets backfills begin.
 * <p>
 * <b>Invariant.</b> What a backfill does not see of its table comes by the stream of
 * changes. A transaction that wrote before the table was published, or before there was a
 * slot, is in no stream, also if it commits long afterwards. So both must be there first;
 * then a bound is taken, an xid that is drawn after that; and no row is read before every
 * transaction with a lower xid has ended. A snapshot is no such bound: running
 * transactions hide above its xmax (see {@link Horizon}). Who draws a later xid writes
 * after the table was published.
 * <p>
 * Nor is a row read while a worker of the group has changes of this table at hand, which
 * it read before it could know of the backfill: the row may be newer. Where changes do
 * not wait for the backfill nobody minds, and there may always be a worker that has some.
 */
final class BackfillAdmission {

	private static final Logger logger = LoggerFactory.getLogger(BackfillAdmission.class);

	private static final String WAITING = """
			select b.id, b.joins_live, b.holds_live, b.admitted::text as admitted,
				exists (select from {bus}.capture_state) as is_captured,
				exists (
					select from {bus}.backfill_chunk k where k.backfill_id = b.id and k.state = 'open'
				) as has_open,
				exists (
					select from {bus}.cursor c %s
					where c.group_id = b.group_id and c.stream_id = b.stream_id and s.owner is not null
				) as is_handling,
				pg_snapshot_xmin(pg_current_snapshot()) > b.admitted as is_clear
			from {bus}.backfill b
			where b.group_id = :groupId and b.stream_id = any(:streamIds) and b.state = 'waiting'
			""".formatted(CursorStore.STATE);

	private static final String SAY = """
			update {bus}.backfill set error = :error
			where id = :id and state = 'waiting' and error is distinct from :error
			""";

	private static final String BOUND = """
			update {bus}.backfill set admitted = pg_current_xact_id()
			where id = :id and state = 'waiting' and admitted is null
			""";

	private static final String BEGIN = """
			update {bus}.backfill set state = 'running', started_at = clock_timestamp(), error = null
			where id = :id and state = 'waiting' and admitted is not distinct from :admitted::xid8
			""";

	private final BusDatabase database;

	BackfillAdmission(BusDatabase database) {
		this.database = database;
	}

	/**
	 * Lets those begin that can, each in a transaction of its own.
	 * @param subscription the group and the streams
	 */
	void admit(Map<String, Object> subscription) {
		if (look(subscription)) {
			look(subscription);
		}
	}

	private boolean look(Map<String, Object> subscription) {
		boolean hasNewBound = false;
		for (Waiting waiting : this.database.own(WAITING)
			.params(subscription)
			.query((row, index) -> new Waiting(row.getInt("id"), row.getBoolean("joins_live"),
					row.getBoolean("holds_live"), row.getString("admitted"), row.getBoolean("is_captured"),
					row.getBoolean("has_open"), row.getBoolean("is_handling"), row.getBoolean("is_clear")))
			.list()) {
			hasNewBound |= look(waiting);
		}
		return hasNewBound;
	}

	private boolean look(Waiting waiting) {
		String reason = waiting.reason();
		if (reason != null) {
			this.database.own(SAY).param("id", waiting.id()).param("error", reason).update();
		}
		else if (waiting.joinsLive() && waiting.admitted() == null) {
			return this.database.own(BOUND).param("id", waiting.id()).update() > 0;
		}
		else if (this.database.own(BEGIN)
			.param("id", waiting.id())
			.param("admitted", waiting.admitted())
			.update() > 0) {
			logger.info("Backfill {} begins", waiting.id());
		}
		return false;
	}

	private record Waiting(int id, boolean joinsLive, boolean holdsLive, @Nullable String admitted, boolean isCaptured,
			boolean hasOpen, boolean isHandling, boolean isClear) {

		@Nullable String reason() {
			if (this.hasOpen) {
				return "Rows of its last run are being handled.";
			}
			if (!this.joinsLive) {
				return null;
			}
			if (!this.isCaptured) {
				return "Changes of tables are not captured yet: see the state of the capture.";
			}
			if (this.admitted != null && !this.isClear) {
				return "Transactions that began before transaction " + this.admitted + " are still running: see "
						+ "pg_stat_activity and pg_prepared_xacts.";
			}
			return (this.admitted != null && this.holdsLive && this.isHandling)
					? "Changes of the table are being handled." : null;
		}

	}

}
