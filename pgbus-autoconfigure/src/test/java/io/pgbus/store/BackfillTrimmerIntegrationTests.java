package io.pgbus.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Set;

import io.pgbus.BackfillRequest;
import io.pgbus.TableOperation;
import io.pgbus.store.RowChange.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What is kept of backfills that have ended, and for how long.
 */
class BackfillTrimmerIntegrationTests {

	private final CaptureBed bed = new CaptureBed();

	private final BackfillTrimmer trimmer = new BackfillTrimmer(this.bed.database);

	private BackfillBed backfill;

	private int groupId;

	@BeforeEach
	void createTable() {
		this.bed.jdbc.sql("create table item (id bigint primary key)").update();
		this.bed.jdbc.sql("insert into item select n from generate_series(1, 25) n").update();
		this.groupId = this.bed.subscribe("g", "item", null, TableOperation.INSERT);
		this.backfill = new BackfillBed(this.bed, 10);
	}

	@AfterEach
	void close() {
		this.bed.close();
	}

	@Test
	void keysStayUntilTheGroupIsPastAllChangesThatTheRowsMayHave() {
		read();
		assertThat(this.trimmer.trim()).as("the capture is not there").isZero();
		append(3);
		append(4);
		assertThat(this.trimmer.trim()).as("the group is not there").isZero();
		append(5);
		Holder worker = this.backfill.worker();
		CursorStore cursors = cursors();
		Claim claim;
		while ((claim = cursors.claim(worker, List.of())) != null) {
			assertThat(claim.events()).as("seen by the backfill").isEmpty();
			assertThat(keys()).as("keys while a position is not saved").isEqualTo(25);
			assertThat(cursors.release(claim, claim.readingTo(), List.of(), null)).isTrue();
		}
		assertThat(this.trimmer.trim()).isEqualTo(1);
		assertThat(keys()).isZero();
		assertThat(this.bed.jdbc.sql("select count(*) from pgbus.backfill_chunk").query(Long.class).single()).isZero();
		assertThat(this.trimmer.trim()).isZero();
	}

	@Test
	void keysStayWhileAPositionIsNotSaved() {
		read();
		append(3);
		CursorStore cursors = cursors();
		Claim claim = cursors.claim(this.backfill.worker(), List.of());
		assertThat(claim).isNotNull();
		assertThat(this.trimmer.trim()).isZero();
		assertThat(cursors.release(claim, claim.readingTo(), List.of(), null)).isTrue();
		assertThat(this.trimmer.trim()).isEqualTo(1);
	}

	@Test
	void keysStayWhileATransactionRunsThatARowMayHave() throws SQLException {
		try (Connection connection = this.bed.testDatabase.connect();
				Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			statement.execute("select pg_current_xact_id()");
			this.backfill.backfills.start("g", BackfillRequest.of("item"));
			// it was there before the backfill, so it must not wait for it
			this.bed.jdbc.sql("update pgbus.backfill set state = 'running', started_at = now()").update();
			this.bed.jdbc.sql("select pg_current_xact_id()").query().listOfRows();
			assertThat(this.backfill.readAll(this.backfill.chunks(this.groupId))).hasSize(25);
			assertThat(this.trimmer.trim()).isZero();
			append(3);
			assertThat(this.trimmer.trim()).isZero();
			assertThat(keys()).isEqualTo(25);
			connection.commit();
		}
		assertThat(this.trimmer.trim()).as("the group is not there").isZero();
		readAll();
		assertThat(this.trimmer.trim()).isEqualTo(1);
	}

	@Test
	void aBackfillThatIsStartedAgainKeepsItsKeys() {
		long id = read();
		append(3);
		readAll();
		this.backfill.backfills.restart(id);
		assertThat(this.trimmer.trim()).isZero();
		assertThat(this.backfill.readAll(this.backfill.chunks(this.groupId))).hasSize(25);
		assertThat(keys()).isEqualTo(50);
		assertThat(this.trimmer.trim()).isEqualTo(1);
		assertThat(keys()).isZero();
	}

	@Test
	void whatAnInterruptedRunHasLeftGoesWithTheNext() {
		long id = read();
		this.bed.jdbc.sql("update pgbus.backfill set max_xmax = null where id = ?").param(id).update();
		assertThat(this.trimmer.trim()).isEqualTo(1);
		assertThat(keys()).isZero();
	}

	private long read() {
		long id = this.backfill.backfills.start("g", BackfillRequest.of("item")).id();
		assertThat(this.backfill.readAll(this.backfill.chunks(this.groupId))).hasSize(25);
		return id;
	}

	private long keys() {
		return this.bed.jdbc.sql("select count(*) from pgbus.backfill_key").query(Long.class).single();
	}

	private void append(int id) {
		this.bed.append(this.bed.insert("item", new Row(List.of(Integer.toString(id)), Set.of())));
	}

	private CursorStore cursors() {
		return new CursorStore(this.bed.database,
				new Subscription(this.groupId,
						this.bed.jdbc.sql("select id from pgbus.stream").query(Integer.class).list(), null,
						TableListenerStore.eventFilter(this.groupId), 10, 1 << 20));
	}

	private void readAll() {
		CursorStore cursors = cursors();
		Holder worker = this.backfill.worker();
		Claim claim;
		while ((claim = cursors.claim(worker, List.of())) != null) {
			assertThat(cursors.release(claim, claim.readingTo(), List.of(), null)).isTrue();
		}
	}

}
