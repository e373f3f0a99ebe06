package io.pgbus.store;

import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import io.pgbus.StartPosition;
import io.pgbus.TableOperation;
import io.pgbus.store.RowChange.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What is removed from a table's stream, and what stays.
 */
class ChangeStreamTrimmerIntegrationTests {

	private static final String STREAM = "table:public.t";

	private final CaptureBed bed = new CaptureBed();

	private final ChangeStreamTrimmer trimmer = new ChangeStreamTrimmer(this.bed.database);

	private final FailureStore failures = new FailureStore(this.bed.database);

	private Holder holder;

	@BeforeEach
	void createTable() {
		this.bed.jdbc.sql("create table t (id int primary key)").update();
		this.bed.jdbc.sql("insert into pgbus.stream (name, partitions) values (?, 1)").param(STREAM).update();
		this.holder = new Holder(new ConsumerStore(this.bed.database).register("me", Duration.ofMinutes(10)), 0);
	}

	@AfterEach
	void close() {
		this.bed.close();
	}

	private Reader subscribe(String group) {
		int groupId = this.bed.subscribe(group, "t", null, TableOperation.INSERT);
		return reader(groupId);
	}

	private Reader reader(int groupId) {
		int streamId = this.bed.jdbc.sql("select id from pgbus.stream where name = ?")
			.param(STREAM)
			.query(Integer.class)
			.single();
		return new Reader(new CursorStore(this.bed.database,
				new Subscription(groupId, List.of(streamId), null, null, 3, 1 << 20)));
	}

	private void append(int from, int to) {
		List<RowChange> changes = new ArrayList<>();
		for (int id = from; id <= to; id++) {
			changes.add(this.bed.insert("t", new Row(List.of(Integer.toString(id)), Set.of())));
		}
		this.bed.append(changes);
	}

	private List<Integer> left() {
		return this.bed.jdbc.sql("select (payload -> 'key' ->> 'id')::int from pgbus.event order by id")
			.query(Integer.class)
			.list();
	}

	@Test
	void onlyWhatAllGroupsHavePassedGoes() {
		Reader fast = subscribe("fast");
		Reader slow = subscribe("slow");
		append(1, 5);
		assertThat(this.trimmer.trim()).isZero();
		fast.readAll();
		assertThat(this.trimmer.trim()).isZero();
		// a window that is open: the claim reads three and releases behind two of them
		Claim claim = slow.claim();
		assertThat(claim.events()).hasSize(3);
		assertThat(this.trimmer.trim()).isZero();
		slow.release(claim, claim.events().get(1).id());
		assertThat(this.trimmer.trim()).isEqualTo(2);
		assertThat(left()).containsExactly(3, 4, 5);
		slow.readAll();
		assertThat(this.trimmer.trim()).isEqualTo(3);
		append(6, 7);
		assertThat(this.trimmer.trim()).isZero();
		assertThat(left()).containsExactly(6, 7);
	}

	@Test
	void whatHasFailedStaysUntilItIsDone() {
		Reader reader = subscribe("g");
		append(1, 3);
		Claim claim = reader.claim();
		StoredEvent failed = claim.events().get(1);
		this.failures.record(claim, failed, new FailureStore.Failure(null, false, "E", null, null));
		reader.release(claim, claim.readingTo());
		assertThat(this.trimmer.trim()).isEqualTo(2);
		assertThat(left()).containsExactly(2);
		this.bed.jdbc.sql("delete from pgbus.failed_event").update();
		assertThat(new ChangeStreamTrimmer(this.bed.database).trim()).isEqualTo(1);
	}

	@Test
	void aGroupThatHasNotBegunKeepsAll() {
		Reader reader = subscribe("g");
		append(1, 3);
		this.bed.groups.create("plain", List.of(STREAM), StartPosition.earliest());
		reader.readAll();
		assertThat(this.trimmer.trim()).isZero();
		assertThat(left()).containsExactly(1, 2, 3);
	}

	@Test
	void aGroupThatStartsAtAnIdKeepsWhatIsBehindIt() {
		Reader reader = subscribe("g");
		append(1, 3);
		long second = this.bed.jdbc.sql("select id from pgbus.event order by id offset 1 limit 1")
			.query(Long.class)
			.single();
		this.bed.groups.create("plain", List.of(STREAM), StartPosition.at(second));
		reader.readAll();
		assertThat(this.trimmer.trim()).isEqualTo(1);
		assertThat(left()).containsExactly(2, 3);
	}

	@Test
	void aGroupThatDoesNotListenAnyMoreKeepsNothing() {
		int groupId = this.bed.subscribe("g", "t", null, TableOperation.INSERT);
		this.bed.jdbc.sql("create table other (id int primary key)").update();
		this.bed.subscribe("g", "other", null, TableOperation.INSERT);
		append(1, 3);
		this.bed.jdbc.sql("delete from pgbus.table_listener where group_id = ? and table_name = 't'")
			.param(groupId)
			.update();
		assertThat(this.trimmer.trim()).isEqualTo(3);
	}

	@Test
	void whatIsCommittedLateIsNotPassed() throws Exception {
		Reader reader = subscribe("g");
		try (Connection late = this.bed.testDatabase.connect(); Statement statement = late.createStatement()) {
			late.setAutoCommit(false);
			statement.execute("select pgbus.publish('" + STREAM + "', 'k', 't', '{\"key\": {\"id\": 99}}')");
			append(1, 3);
			reader.readAll();
			late.commit();
		}
		assertThat(this.trimmer.trim()).isEqualTo(3);
		assertThat(left()).containsExactly(99);
		reader.readAll();
		assertThat(new ChangeStreamTrimmer(this.bed.database).trim()).isEqualTo(1);
	}

	@Test
	void withoutGroupsAllGoesAndOtherStreamsStay() {
		subscribe("g");
		append(1, 1200);
		this.bed.jdbc.sql("select pgbus.publish('other', 'k', 't', '{\"key\": {\"id\": 99}}')")
			.query(Long.class)
			.single();
		new GroupChanges(this.bed.database).delete("g", true);
		assertThat(this.trimmer.trim()).isEqualTo(1200);
		assertThat(left()).containsExactly(99);
	}

	@Test
	void aDueFailureWhoseEventIsGoneIsForgottenAndTheNextOfItsKeyHasItsTurn() {
		Reader reader = subscribe("g");
		append(1, 1);
		append(1, 1);
		Claim claim = reader.claim();
		List<StoredEvent> events = claim.events();
		this.failures.record(claim, events.get(0), new FailureStore.Failure(Duration.ZERO, true, "E", null, null));
		this.failures.hold(claim, events.subList(1, 2));
		this.bed.jdbc.sql("delete from pgbus.event where id = ?").param(events.get(0).id()).update();
		List<FailureStore.Due> dues = this.failures.due(claim, null, 1);
		assertThat(dues).extracting((due) -> due.event().id()).containsExactly(events.get(1).id());
		assertThat(this.bed.jdbc.sql("select event_id from pgbus.failed_event").query(Long.class).list())
			.containsExactly(events.get(1).id());
	}

	/** A group's reader. */
	private final class Reader {

		private final CursorStore cursors;

		Reader(CursorStore cursors) {
			this.cursors = cursors;
		}

		Claim claim() {
			Claim claim = this.cursors.claim(ChangeStreamTrimmerIntegrationTests.this.holder, List.of());
			assertThat(claim).isNotNull();
			return claim;
		}

		void release(Claim claim, long position) {
			assertThat(this.cursors.release(claim, position, List.of(), null)).isTrue();
		}

		void readAll() {
			Claim claim;
			while ((claim = this.cursors.claim(ChangeStreamTrimmerIntegrationTests.this.holder, List.of())) != null) {
				release(claim, claim.readingTo());
			}
		}

	}

}
