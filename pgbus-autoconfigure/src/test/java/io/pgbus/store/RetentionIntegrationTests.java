package io.pgbus.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;

import io.pgbus.StartPosition;
import io.pgbus.store.RetentionBed.Reader;
import io.pgbus.store.RetentionRound.Done;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Which events go, and which stay.
 */
class RetentionIntegrationTests {

	private static final RetentionSettings SETTINGS = RetentionBed.SETTINGS;

	private final RetentionBed bed = new RetentionBed();

	@AfterEach
	void close() {
		this.bed.close();
	}

	@Test
	void streamsKeepTheirEventsForEverByDefault() {
		this.bed.stream("s", Retention.FOREVER);
		this.bed.publish("s", 10);
		assertThat(this.bed.rounds().rolled()).isTrue();
		this.bed.publish("s", 10);
		assertThat(this.bed.rounds().dropped()).isZero();
		assertThat(this.bed.count("s")).isEqualTo(20);
		// one more is ahead
		assertThat(this.bed.segments()).containsExactly(0L, 1L, 2L, 3L);
	}

	@Test
	void segmentsGoWhenTheirTimeIsOverAndNobodyIsLeftToReadThem() {
		this.bed.stream("s", RetentionBed.BRIEFLY);
		Reader reader = this.bed.reader("g", "s");
		this.bed.publish("s", 10);
		// rolled, old enough, but not read
		assertThat(this.bed.rounds()).isEqualTo(new Done(true, 0, 0, 0));
		this.bed.publish("s", 2);
		assertThat(this.bed.count("s")).isEqualTo(12);
		assertThat(reader.readAll()).hasSize(12);
		assertThat(this.bed.rounds().dropped()).isOne();
		assertThat(this.bed.count("s")).isEqualTo(2);
		assertThat(this.bed.segments()).containsExactly(1L, 2L);
		// what is published now is read as ever
		this.bed.publish("s", 3);
		assertThat(reader.readAll()).hasSize(3);
	}

	@Test
	void aGroupHoldsAnEventInTheMiddleOfAWindow() {
		this.bed.stream("s", RetentionBed.BRIEFLY);
		Reader reader = this.bed.reader("g", "s");
		this.bed.publish("s", 10);
		this.bed.rounds();
		for (int i = 0; i < 3; i++) {
			Claim claim = reader.claim();
			reader.release(claim, claim.readingTo());
			assertThat(this.bed.rounds().dropped()).isZero();
		}
		assertThat(reader.readAll()).hasSize(1);
		assertThat(this.bed.rounds().dropped()).isOne();
	}

	@Test
	void aTransactionThatCommitsLateKeepsItsSegmentUntilItsEventsAreRead() throws SQLException {
		this.bed.stream("s", RetentionBed.BRIEFLY);
		Reader reader = this.bed.reader("g", "s");
		try (Connection late = this.bed.testDatabase.connect(); Statement statement = late.createStatement()) {
			late.setAutoCommit(false);
			statement.execute("select pgbus.publish('s', 'late', 't', '1')");
			this.bed.publish("s", 10);
			assertThat(reader.readAll()).hasSize(10);
			assertThat(this.bed.rounds()).isEqualTo(new Done(true, 0, 0, 0));
			this.bed.publish("s", 2);
			assertThat(reader.readAll()).hasSize(2);
			late.commit();
		}
		assertThat(this.bed.rounds().dropped()).isZero();
		assertThat(reader.readAll()).extracting(StoredEvent::key).containsExactly("late");
		assertThat(this.bed.rounds().dropped()).isOne();
	}

	@Test
	void eventsAreKeptForTheirTimeThoughAllHaveReadThem() {
		this.bed.stream("s", new Retention(Duration.ofHours(1)));
		this.bed.publish("s", 10);
		this.bed.rounds();
		assertThat(this.bed.rounds().dropped()).isZero();
		this.bed.jdbc.sql("update pgbus.segment set complete_at = complete_at - interval '61 minutes'").update();
		assertThat(this.bed.rounds().dropped()).isOne();
	}

	@Test
	void consumedEventsGoWhenAllGroupsHavePassedAndNeverUnreadOnes() {
		this.bed.use(new RetentionSettings(SETTINGS.interval(), 10, SETTINGS.segmentDuration(), true,
				SETTINGS.abandonedAfter(), false));
		this.bed.stream("s", Retention.CONSUMED);
		Reader fast = this.bed.reader("fast", "s");
		Reader slow = this.bed.reader("slow", "s");
		this.bed.publish("s", 10);
		fast.readAll();
		assertThat(this.bed.rounds()).isEqualTo(new Done(true, 0, 0, 0));
		slow.readAll();
		assertThat(this.bed.rounds().dropped()).isOne();
	}

	@Test
	void unreadEventsGoOnlyIfSetAndAreCounted() {
		this.bed.stream("s", RetentionBed.BRIEFLY);
		Reader reader = this.bed.reader("g", "s");
		this.bed.publish("s", 10);
		this.bed.rounds();
		Claim claim = reader.claim();
		reader.release(claim, claim.readingTo());
		this.bed.use(new RetentionSettings(SETTINGS.interval(), 10, SETTINGS.segmentDuration(), true,
				SETTINGS.abandonedAfter(), false));
		assertThat(this.bed.rounds()).isEqualTo(new Done(false, 1, 0, 7));
		this.bed.publish("s", 1);
		assertThat(reader.readAll()).hasSize(1);
	}

	@Test
	void whatGoesIsCountedWhereSegmentsAreLookedAfter() {
		this.bed.stream("s", RetentionBed.BRIEFLY);
		this.bed.reader("g", "s");
		RetentionSettings settings = new RetentionSettings(SETTINGS.interval(), 10, SETTINGS.segmentDuration(), true,
				SETTINGS.abandonedAfter(), false);
		RetentionMaintenance maintenance = new RetentionMaintenance(this.bed.database, settings);
		RetentionMaintenance other = new RetentionMaintenance(this.bed.database, settings);
		assertThat(maintenance.totals()).isEqualTo(new RetentionTotals(null, 0, 0, 0));
		for (int drops = 0; drops < 2; drops++) {
			this.bed.publish("s", 10);
			for (int i = 0; i < 4; i++) {
				maintenance.tryRound();
				other.tryRound();
			}
		}
		assertThat(maintenance.totals()).isEqualTo(new RetentionTotals(this.bed.segments().size(), 2, 0, 20));
		assertThat(other.totals()).isEqualTo(new RetentionTotals(null, 0, 0, 0));
	}

	@Test
	void anAbandonedGroupHoldsEventsUnlessSetOtherwise() {
		this.bed.stream("s", Retention.CONSUMED);
		this.bed.reader("g", "s");
		this.bed.reader("other", "s").readAll();
		this.bed.publish("s", 10);
		this.bed.jdbc.sql("update pgbus.consumer_group set created_at = now() - interval '31 days' where name = 'g'")
			.update();
		this.bed.jdbc
			.sql("""
					update pgbus.cursor_state set changed_at = now() - interval '31 days'
					where cursor_id in (
						select c.id from pgbus.cursor c join pgbus.consumer_group g on g.id = c.group_id where g.name = 'g')""")
			.update();
		assertThat(this.bed.rounds().dropped()).isZero();
		this.bed.use(new RetentionSettings(SETTINGS.interval(), 10, SETTINGS.segmentDuration(), false,
				SETTINGS.abandonedAfter(), true));
		// the other has not read, and is none
		assertThat(this.bed.rounds().dropped()).isZero();
		this.bed.reader("other", "s").readAll();
		assertThat(this.bed.rounds()).isEqualTo(new Done(false, 1, 0, 10));
	}

	@Test
	void aGroupWithARunningListenerIsSeen() {
		this.bed.stream("s", Retention.CONSUMED);
		this.bed.reader("g", "s");
		this.bed.jdbc.sql("update pgbus.consumer_group set created_at = now() - interval '31 days'").update();
		this.bed.jdbc.sql("update pgbus.cursor_state set changed_at = now() - interval '31 days'").update();
		this.bed.jdbc.sql(
				"insert into pgbus.member (consumer_id, listener, group_id) select ?, 'l', id from pgbus.consumer_group")
			.param(this.bed.holder.consumerId())
			.update();
		this.bed.use(new RetentionSettings(SETTINGS.interval(), 10, SETTINGS.segmentDuration(), false,
				SETTINGS.abandonedAfter(), true));
		this.bed.publish("s", 10);
		assertThat(this.bed.rounds()).isEqualTo(new Done(true, 0, 0, 0));
	}

	@Test
	void aFailedEventOutlivesItsSegmentAndIsRetried() {
		this.bed.stream("s", RetentionBed.BRIEFLY);
		Reader reader = this.bed.reader("g", "s");
		this.bed.publish("s", 10);
		Claim claim = reader.claim();
		StoredEvent failed = claim.events().get(1);
		this.bed.failures.record(claim, failed, new FailureStore.Failure(Duration.ZERO, false, "E", null, null));
		reader.release(claim, claim.readingTo());
		// released without its being tried, until there is nothing else
		Claim last = null;
		for (int i = 0; i < 3; i++) {
			last = reader.claim();
			if (i < 2) {
				reader.release(last, last.readingTo());
			}
		}
		reader.release(last, last.readingTo());
		assertThat(this.bed.rounds()).isEqualTo(new Done(true, 1, 0, 0));
		assertThat(this.bed.count("s")).isZero();
		Claim retry = reader.claim();
		assertThat(this.bed.failures.due(retry, null, 5)).extracting(FailureStore.Due::event).containsExactly(failed);
		assertThat(new FailureList(this.bed.database).page("g", new FailureFilter(null, null, null, null), -1, 10,
				false, 100))
			.extracting(FailedEvent::payload)
			.containsExactly("2");
		assertThat(this.bed.failures.resolve(retry, this.bed.failures.due(retry, null, 5).get(0))).isTrue();
		reader.release(retry, retry.readingTo());
		this.bed.rounds();
		assertThat(this.bed.jdbc.sql("select count(*) from pgbus.kept_event").query(Long.class).single()).isZero();
	}

	@Test
	void whereStreamsKeepTheirEventsForDifferentTimesThoseOfOneAreDeleted() {
		this.bed.stream("short", RetentionBed.BRIEFLY);
		this.bed.stream("long", Retention.FOREVER);
		Reader reader = this.bed.reader("g", "short", "long");
		this.bed.publish("short", 2500);
		this.bed.publish("long", 5);
		Claim claim;
		do {
			claim = reader.claim();
			if (claim.stream().equals("long")) {
				reader.release(claim, claim.readingTo());
			}
		}
		while (claim.stream().equals("long"));
		StoredEvent failed = claim.events().get(0);
		this.bed.failures.record(claim, failed, new FailureStore.Failure(null, false, "E", null, null));
		reader.release(claim, claim.readingTo());
		assertThat(this.bed.rounds()).isEqualTo(new Done(true, 0, 0, 0));
		reader.readAll();
		assertThat(this.bed.rounds()).isEqualTo(new Done(false, 0, 2499, 0));
		assertThat(this.bed.count("short")).isOne();
		assertThat(this.bed.count("long")).isEqualTo(5);
	}

	@Test
	void segmentsRollByTimeWhereAStreamDoesNotKeepItsEventsForEver() {
		this.bed.use(new RetentionSettings(SETTINGS.interval(), 1000, Duration.ofDays(1), false,
				SETTINGS.abandonedAfter(), false));
		this.bed.stream("s", Retention.FOREVER);
		this.bed.publish("s", 1);
		this.bed.rounds();
		this.bed.jdbc.sql("update pgbus.segment set opened_at = opened_at - interval '25 hours'").update();
		assertThat(this.bed.rounds().rolled()).isFalse();
		new RetentionStore(this.bed.database).declare(Map.of("s", RetentionBed.BRIEFLY));
		assertThat(this.bed.rounds().rolled()).isTrue();
		// an empty one stays
		this.bed.jdbc.sql("update pgbus.segment set opened_at = opened_at - interval '25 hours'").update();
		assertThat(this.bed.rounds().rolled()).isFalse();
	}

	@Test
	void idleCursorsMoveOnAndMissNothing() throws SQLException {
		this.bed.stream("quiet", RetentionBed.BRIEFLY);
		this.bed.stream("busy", RetentionBed.BRIEFLY);
		Reader reader = this.bed.reader("g", "quiet");
		this.bed.publish("quiet", 1);
		reader.readAll();
		Instant used = changedAt();
		try (Connection late = this.bed.testDatabase.connect(); Statement statement = late.createStatement()) {
			late.setAutoCommit(false);
			statement.execute("select pgbus.publish('quiet', 'late', 't', '1')");
			this.bed.publish("busy", 20);
			this.bed.rounds();
			assertThat(floor()).isGreaterThanOrEqualTo(SegmentStore.SIZE);
			assertThat(changedAt()).isEqualTo(used);
			late.commit();
		}
		assertThat(reader.readAll()).extracting(StoredEvent::key).containsExactly("late");
		// one that is to start in the future stays there
		Reader future = this.bed.new Reader(
				this.bed.groups.create("future", List.of("busy"), StartPosition.at(SegmentStore.SIZE * 5)));
		this.bed.publish("busy", 20);
		this.bed.rounds();
		assertThat(future.readAll()).isEmpty();
	}

	private Instant changedAt() {
		return this.bed.jdbc.sql("select max(changed_at) from pgbus.cursor_state")
			.query(OffsetDateTime.class)
			.single()
			.toInstant();
	}

	private long floor() {
		return this.bed.jdbc.sql("select min(high_floor) from pgbus.cursor_state").query(Long.class).single();
	}

	@Test
	void numbersHistoryAndReplayAreRightOverDroppedSegments() {
		this.bed.stream("s", RetentionBed.BRIEFLY);
		this.bed.stream("kept", Retention.FOREVER);
		Reader reader = this.bed.reader("g", "s");
		this.bed.reader("behind", "kept");
		this.bed.publish("s", 10);
		reader.readAll();
		assertThat(this.bed.rounds().dropped()).isOne();
		Instant between = this.bed.jdbc.sql("select clock_timestamp()")
			.query(OffsetDateTime.class)
			.single()
			.toInstant();
		this.bed.publish("kept", 10);
		this.bed.publish("s", 5);
		this.bed.rounds();
		this.bed.publish("s", 6);
		BusStatus status = new BusStatus(this.bed.database);
		assertThat(status.streams(10)).extracting(StreamStatus::estimatedEvents).containsExactly(10L, 11L);
		assertThat(status.groups(10)).extracting(GroupStatus::estimatedLag).containsExactly(10L, 11L);
		assertThat(new HistoryStore(this.bed.database).newest("s", 0, Long.MAX_VALUE, 100)).hasSize(11);
		assertThat(new HistoryStore(this.bed.database).newest("s", Instant.EPOCH, Instant.now().plusSeconds(60), 100))
			.hasSize(11);
		assertThat(this.bed.new Reader(this.bed.groups.create("replay", List.of("s"), StartPosition.at(between)))
			.readAll()).hasSize(11);
		assertThat(this.bed.new Reader(this.bed.groups.create("all", List.of("s"), StartPosition.at(Instant.EPOCH)))
			.readAll()).hasSize(11);
	}

	@Test
	void theLastDeclarationCountsAndWhatNobodyDeclaresStays() {
		RetentionStore store = new RetentionStore(this.bed.database);
		this.bed.stream("s", new Retention(Duration.ofDays(3)));
		this.bed.stream("t", Retention.CONSUMED);
		store.declare(Map.of("s", Retention.FOREVER));
		assertThat(this.bed.jdbc
			.sql("select coalesce(extract(epoch from retention), -1)::int from pgbus.stream order by name")
			.query(Integer.class)
			.list()).containsExactly(-1, 0);
		store.declare(Map.of("s", new Retention(Duration.ofHours(36))));
		assertThat(this.bed.jdbc.sql("select extract(epoch from retention)::int from pgbus.stream order by name")
			.query(Integer.class)
			.list()).containsExactly(36 * 3600, 0);
		assertThatIllegalArgumentException().isThrownBy(() -> new Retention(Duration.ofSeconds(-1)));
	}

}
