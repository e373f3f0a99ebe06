package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.postgresql.replication.LogSequenceNumber;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.simple.JdbcClient.StatementSpec;

/**
 * Appends captured changes to the streams of their tables, and keeps how far that is.
 * Everything here runs apart from the caller's transaction.
 * <p>
 * <b>Invariant.</b> Each change is appended once. The events of a batch and the position
 * behind it are committed together, and the state is changed by deleting the version that
 * was seen: of two instances that both take themselves for the capture, the second finds
 * it gone, and what it was about to append is not appended.
 *
 * @since 0.1.0
 */
public final class CaptureStore {

	private static final Logger logger = LoggerFactory.getLogger(CaptureStore.class);

	private static final String COLUMNS = "holder, slot, system_id, commit_lsn, ordinal, confirmed_lsn";

	private static final String READ = "select * from {bus}.capture_state order by version desc limit 1";

	private static final String BEGIN = """
			insert into {bus}.capture_state (version, %s)
			select 1, :holder, :slot, :systemId, :lsn::pg_lsn, 0, :lsn::pg_lsn
			where not exists (select from {bus}.capture_state)
			returning *
			""".formatted(COLUMNS);

	/** Puts the next state in the place of the one that was seen. */
	private static final String REPLACE = """
			with seen as (
				delete from {bus}.capture_state s where s.version = :version returning *
			)
			insert into {bus}.capture_state (version, %s)
			select s.version + 1, coalesce(:holder::text, s.holder), coalesce(:slot::text, s.slot),
				coalesce(:systemId::text, s.system_id), coalesce(:commit::pg_lsn, s.commit_lsn),
				coalesce(:ordinal::bigint, s.ordinal), coalesce(:confirmed::pg_lsn, s.confirmed_lsn)
			from seen s
			returning *
			""".formatted(COLUMNS);

	/**
	 * Most events have nearly all but key and payload in common with others, so that is
	 * sent and parsed once for each kind. The ids come in the order of the input, since
	 * the rows are sorted below the insert, whose defaults are evaluated above it row by
	 * row.
	 */
	private static final String APPEND = """
			with kind as materialized (
				select stream_id, partitions, type, headers::jsonb, number
				from unnest(:streams::integer[], :partitions::integer[], :types::text[], :headers::text[])
					with ordinality as k(stream_id, partitions, type, headers, number)
			)
			insert into {bus}.event (stream_id, partition, size, type, key, payload, headers)
			select k.stream_id, {bus}.partition_of_key(e.key, k.partitions), octet_length(e.payload),
				k.type, e.key, e.payload::jsonb, k.headers
			from unnest(:kinds::integer[], :keys::text[], :payloads::text[])
				with ordinality as e(kind, key, payload, ordinal)
			join kind k on k.number = e.kind
			order by e.ordinal
			""";

	/**
	 * The stream of changes may have a commit that no query sees yet: filters ask the
	 * database about it, so they wait until it is seen.
	 */
	private static final String NEXT_TRANSACTION = """
			select pg_snapshot_xmax(s)::text::bigint as next, exists (
				select from unnest(:transactions::text[]) as t(id)
				where not pg_visible_in_snapshot((
					pg_snapshot_xmax(s)::text::bigint
					- (pg_snapshot_xmax(s)::text::bigint - t.id::bigint + 2147483648) % 4294967296 + 2147483648
				)::text::xid8, s)
			) as is_early
			from pg_current_snapshot() s
			""";

	private static final String RECORD_GAP = """
			insert into {bus}.capture_gap (reason, from_lsn, to_lsn)
			select :reason, :from::pg_lsn, :to::pg_lsn
			where :to::pg_lsn is not null or not exists (
				select from (select * from {bus}.capture_gap order by id desc limit 1) g
				where g.reason = :reason and g.from_lsn is not distinct from :from::pg_lsn and g.to_lsn is null
			)
			""";

	private static final String GAPS = "select * from {bus}.capture_gap order by id desc limit 100";

	private static final int ROWS_PER_STATEMENT = 2000;

	private static final int MAX_LOOKS = 100;

	private static final long LOOK_MILLIS = 10;

	private static final String FORGET = "delete from {bus}.capture_state";

	private final BusDatabase database;

	private final BackfillStore backfills;

	private final TableListenerStore listeners;

	private final ChangeConverter converter;

	/**
	 * Creates the store.
	 * @param database the database
	 * @param listeners who wants which changes
	 * @param filterTimeout the time that one statement with filters may take
	 */
	public CaptureStore(BusDatabase database, TableListenerStore listeners, Duration filterTimeout) {
		this.database = database;
		this.backfills = new BackfillStore(database, BackfillSettings.DEFAULTS);
		this.listeners = listeners;
		this.converter = new ChangeConverter(database, filterTimeout);
	}

	/**
	 * Returns how far the capture is.
	 * @return the state, or {@code null} if nothing was captured yet
	 */
	public @Nullable CaptureCheckpoint read() {
		return this.database.own(READ).query(CaptureStore::checkpoint).optional().orElse(null);
	}

	/**
	 * Writes the first state, when the slot has been made.
	 * @param holder the instance, for people
	 * @param slot the name of the slot
	 * @param systemId the server's system identifier
	 * @param lsn the LSN at which the slot starts, unsigned
	 * @return the state
	 * @throws LostCaptureException if another instance has just written one
	 */
	public CaptureCheckpoint begin(String holder, String slot, String systemId, long lsn) {
		try {
			return this.database.own(BEGIN)
				.param("holder", holder)
				.param("slot", slot)
				.param("systemId", systemId)
				.param("lsn", text(lsn))
				.query(CaptureStore::checkpoint)
				.optional()
				.orElseThrow(() -> new LostCaptureException(null));
		}
		catch (DuplicateKeyException ex) {
			throw new LostCaptureException(null);
		}
	}

	/**
	 * Takes the capture over, so that whoever had it until now finds it lost.
	 * @param seen the state that was read
	 * @param holder the instance, for people
	 * @return the new state, with the same position
	 * @throws LostCaptureException if the state is another by now
	 */
	public CaptureCheckpoint takeOver(CaptureCheckpoint seen, String holder) {
		return replace(seen, new Next(holder, null, null, null, null));
	}

	/**
	 * Appends the changes that groups want and saves the position, in one transaction.
	 * Filters are asked before it.
	 * @param seen the state
	 * @param changes changes behind its position, in the order of the stream; perhaps
	 * none
	 * @param to the position to save, at or behind the last of them. A large transaction
	 * may come in several parts; the last one's position is {@link CapturePosition#WHOLE}
	 * @return the new state, and what was appended
	 * @throws LostCaptureException if the state is another by now
	 * @throws DataAccessException if the database failed; nothing was appended then,
	 * unless the connection was lost while committing
	 */
	public Appended append(CaptureCheckpoint seen, List<RowChange> changes, CapturePosition to) {
		List<ChangeEvent> events = changes.isEmpty() ? List.of() : convert(changes, to);
		return save(seen, new Next(null, null, null, to, null), events);
	}

	private List<ChangeEvent> convert(List<RowChange> changes, CapturePosition to) {
		List<TableSubscription> subscriptions = this.listeners.subscriptions();
		if (subscriptions.isEmpty()) {
			return List.of();
		}
		return this.converter.convert(changes, to, subscriptions, nextTransaction(changes));
	}

	private long nextTransaction(List<RowChange> changes) {
		String[] transactions = changes.stream()
			.map((change) -> Integer.toUnsignedString(change.transactionId()))
			.distinct()
			.toArray(String[]::new);
		for (int looks = 1;; looks++) {
			Sight sight = this.database.own(NEXT_TRANSACTION)
				.param("transactions", transactions)
				.query((row, index) -> new Sight(row.getLong("next"), row.getBoolean("is_early")))
				.single();
			if (!sight.isEarly() || looks == MAX_LOOKS || !pause()) {
				return sight.next();
			}
		}
	}

	private static boolean pause() {
		try {
			Thread.sleep(LOOK_MILLIS);
			return true;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
	}

	/**
	 * Saves what the slot is about to be told.
	 * @param seen the state
	 * @param lsn the LSN, unsigned, up to which the slot may forget
	 * @return the new state
	 * @throws LostCaptureException if the state is another by now
	 */
	public CaptureCheckpoint confirm(CaptureCheckpoint seen, long lsn) {
		return replace(seen, new Next(null, null, null, null, lsn));
	}

	/**
	 * Records that changes were missed, and that the capture has stopped there. The same
	 * gap is recorded once.
	 * @param seen the state, or {@code null} if there is none
	 * @param reason why, for people
	 */
	public void recordGap(@Nullable CaptureCheckpoint seen, String reason) {
		recordGap(seen, reason, null);
	}

	private void recordGap(@Nullable CaptureCheckpoint seen, String reason, @Nullable Long to) {
		this.database.own(RECORD_GAP)
			.param("reason", reason)
			.param("from", (seen != null) ? text(seen.position().commit()) : null)
			.param("to", (to != null) ? text(to) : null)
			.update();
	}

	/**
	 * Goes on behind a gap, with a slot that has just been made: records the gap, tells
	 * the groups that listen to gaps by an event for each of their tables, starts
	 * backfills again that have not ended, and saves the new position, in one
	 * transaction.
	 * @param seen the state
	 * @param reason why changes were missed, for people
	 * @param holder the instance, for people
	 * @param slot the name of the slot
	 * @param systemId the server's system identifier
	 * @param lsn the LSN at which the slot starts, unsigned
	 * @return the new state, and what was appended
	 * @throws LostCaptureException if the state is another by now
	 */
	public Appended resume(CaptureCheckpoint seen, String reason, String holder, String slot, String systemId,
			long lsn) {
		return Objects.requireNonNull(this.database.ownTransaction().execute((status) -> {
			Appended appended = save(seen, new Next(holder, slot, systemId, new CapturePosition(lsn, 0), lsn),
					GapEvents.of(this.listeners.subscriptions(), reason, text(seen.position().commit()), text(lsn)));
			recordGap(seen, reason, lsn);
			List<Long> restarted = this.backfills.restartUnfinished();
			if (!restarted.isEmpty()) {
				logger.warn("Changes were missed, so the backfills {} start again", restarted);
			}
			return appended;
		}));
	}

	/**
	 * Forgets how far the capture was, after its slot was dropped on purpose: the next
	 * one starts anew.
	 */
	public void forget() {
		this.database.ownTransaction().executeWithoutResult((status) -> this.database.own(FORGET).update());
	}

	/**
	 * Returns the gaps.
	 * @return at most a hundred, newest first
	 */
	public List<CaptureGap> gaps() {
		return this.database.own(GAPS)
			.query((row, index) -> new CaptureGap(row.getObject("found_at", OffsetDateTime.class).toInstant(),
					row.getString("reason"), lsnOrNull(row, "from_lsn"), lsnOrNull(row, "to_lsn")))
			.list();
	}

	/** The state is replaced first: it is the lock. */
	private Appended save(CaptureCheckpoint seen, Next next, List<ChangeEvent> events) {
		if (events.isEmpty()) {
			return new Appended(replace(seen, next), 0, Set.of());
		}
		return Objects.requireNonNull(this.database.ownTransaction().execute((status) -> {
			CaptureCheckpoint saved = replace(seen, next);
			for (int from = 0; from < events.size(); from += ROWS_PER_STATEMENT) {
				append(events.subList(from, Math.min(events.size(), from + ROWS_PER_STATEMENT)));
			}
			return new Appended(saved, events.size(),
					events.stream().map((event) -> event.kind().streamId()).collect(Collectors.toSet()));
		}));
	}

	private void append(List<ChangeEvent> events) {
		Map<ChangeEvent.Kind, Integer> numbers = new LinkedHashMap<>();
		Integer[] kinds = new Integer[events.size()];
		for (int i = 0; i < kinds.length; i++) {
			kinds[i] = numbers.computeIfAbsent(events.get(i).kind(), (kind) -> numbers.size() + 1);
		}
		Collection<ChangeEvent.Kind> distinct = numbers.keySet();
		this.database.own(APPEND)
			.param("streams", distinct.stream().map(ChangeEvent.Kind::streamId).toArray(Integer[]::new))
			.param("partitions", distinct.stream().map(ChangeEvent.Kind::partitions).toArray(Integer[]::new))
			.param("types", distinct.stream().map(ChangeEvent.Kind::type).toArray(String[]::new))
			.param("headers", distinct.stream().map(ChangeEvent.Kind::headers).toArray(String[]::new))
			.param("kinds", kinds)
			.param("keys", events.stream().map(ChangeEvent::key).toArray(String[]::new))
			.param("payloads", events.stream().map(ChangeEvent::payload).toArray(String[]::new))
			.update();
	}

	private CaptureCheckpoint replace(CaptureCheckpoint seen, Next next) {
		try {
			return next.bind(this.database.own(REPLACE).param("version", seen.version()))
				.query(CaptureStore::checkpoint)
				.optional()
				.orElseThrow(() -> new LostCaptureException(seen));
		}
		catch (DuplicateKeyException ex) {
			throw new LostCaptureException(seen);
		}
	}

	private static CaptureCheckpoint checkpoint(ResultSet row, int index) throws SQLException {
		return new CaptureCheckpoint(row.getLong("version"),
				row.getObject("changed_at", OffsetDateTime.class).toInstant(), row.getString("holder"),
				row.getString("slot"), row.getString("system_id"),
				new CapturePosition(lsn(row.getString("commit_lsn")), row.getLong("ordinal")),
				lsn(row.getString("confirmed_lsn")));
	}

	private static @Nullable Long lsnOrNull(ResultSet row, String column) throws SQLException {
		String text = row.getString(column);
		return (text != null) ? lsn(text) : null;
	}

	private static long lsn(String text) {
		return LogSequenceNumber.valueOf(text).asLong();
	}

	private static String text(long lsn) {
		return LogSequenceNumber.valueOf(lsn).asString();
	}

	/**
	 * What became of an append.
	 *
	 * @param checkpoint the new state
	 * @param events how many events were appended
	 * @param streamIds the streams that have them, whose groups are to be woken
	 */
	public record Appended(CaptureCheckpoint checkpoint, int events, Set<Integer> streamIds) {

	}

	/** What changes in the state; {@code null} for what does not. */
	private record Next(@Nullable String holder, @Nullable String slot, @Nullable String systemId,
			@Nullable CapturePosition position, @Nullable Long confirmed) {

		StatementSpec bind(StatementSpec statement) {
			return statement.param("holder", this.holder)
				.param("slot", this.slot)
				.param("systemId", this.systemId)
				.param("commit", (this.position != null) ? text(this.position.commit()) : null)
				.param("ordinal", (this.position != null) ? this.position.ordinal() : null)
				.param("confirmed", (this.confirmed != null) ? text(this.confirmed) : null);
		}

	}

	private record Sight(long next, boolean isEarly) {

	}

}
