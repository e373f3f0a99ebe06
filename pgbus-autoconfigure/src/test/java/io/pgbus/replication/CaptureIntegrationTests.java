package io.pgbus.replication;

import java.io.StringReader;
import java.sql.Connection;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

import io.pgbus.PgBusException;
import io.pgbus.replication.CaptureBus.Captured;
import io.pgbus.replication.CaptureStatus.State;
import io.pgbus.store.CapturePosition;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import org.postgresql.replication.LogSequenceNumber;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

class CaptureIntegrationTests {

	private CaptureBus bus;

	@BeforeEach
	void create() {
		this.bus = new CaptureBus();
		this.bus.run("create table orders (id bigint primary key, status text)");
		this.bus.listen("orders");
	}

	@AfterEach
	void close() {
		this.bus.close();
	}

	@Test
	void changesArriveOnceInTheOrderOfCommitsWithTheirPositions() throws Exception {
		Capture capture = this.bus.capturing();
		try (Connection first = this.bus.database.connect();
				Connection second = this.bus.database.connect();
				Statement early = first.createStatement();
				Statement late = second.createStatement()) {
			first.setAutoCommit(false);
			second.setAutoCommit(false);
			early.execute("insert into orders values (1, 'a'), (2, 'b')");
			late.execute("insert into orders values (3, 'c')");
			second.commit();
			early.execute("update orders set status = 'B' where id = 2");
			early.execute("delete from orders where id = 1");
			first.commit();
		}
		List<Captured> events = this.bus.awaitEvents(5);
		assertThat(events).extracting(Captured::type, Captured::key, Captured::ordinal)
			.containsExactly(tuple("insert", "[3]", 1L), tuple("insert", "[1]", 1L), tuple("insert", "[2]", 2L),
					tuple("update", "[2]", 3L), tuple("delete", "[1]", 4L));
		assertThat(events.get(1).lsn()).isEqualTo(events.get(4).lsn());
		assertThat(lsn(events.get(0))).isLessThan(lsn(events.get(1)));
		assertThat(Objects.requireNonNull(this.bus.store.read()).position())
			.isEqualTo(new CapturePosition(lsn(events.get(4)), CapturePosition.WHOLE));
		CaptureStatus status = capture.status();
		assertThat(status.isLeader()).isTrue();
		assertThat(status.changes()).isEqualTo(5);
		assertThat(status.events()).isEqualTo(5);
		assertThat(status.lastCommitAt()).isNotNull();
		assertThat(this.bus.wokenStreams).isNotEmpty();
		await().untilAsserted(() -> {
			assertThat(this.bus.existingSlot().confirmedLsn()).isGreaterThan(lsn(events.get(4)));
			assertThat(capture.status().slotStatus()).isNotNull();
		});
	}

	@Test
	void whatWasRolledBackToASavepointDoesNotArrive() throws Exception {
		this.bus.capturing();
		try (Connection connection = this.bus.database.connect(); Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			statement.execute("insert into orders values (1, 'kept')");
			Savepoint savepoint = connection.setSavepoint();
			statement.execute("insert into orders values (2, 'rolled back')");
			connection.rollback(savepoint);
			statement.execute("insert into orders values (3, 'kept')");
			connection.commit();
			statement.execute("insert into orders values (4, 'rolled back')");
			connection.rollback();
			statement.execute("insert into orders values (5, 'kept')");
			connection.commit();
		}
		assertThat(this.bus.awaitEvents(3)).extracting(Captured::key).containsExactly("[1]", "[3]", "[5]");
	}

	@Test
	void aPreparedTransactionArrivesWhenItIsCommitted() {
		this.bus.capturing();
		try (var connection = this.bus.database.connect(); Statement statement = connection.createStatement()) {
			statement.execute("begin; insert into orders values (1, 'prepared'); prepare transaction '"
					+ this.bus.settings.slot() + "'");
			statement.execute("insert into orders values (2, 'between')");
			assertThat(this.bus.awaitEvents(1)).extracting(Captured::key).containsExactly("[2]");
			statement.execute("commit prepared '" + this.bus.settings.slot() + "'");
		}
		catch (java.sql.SQLException ex) {
			throw new IllegalStateException(ex);
		}
		assertThat(this.bus.awaitEvents(2)).extracting(Captured::key).containsExactly("[2]", "[1]");
	}

	@Test
	void truncatesArriveForEachTable() {
		this.bus.run("create table items (id bigint primary key, order_id bigint references orders)");
		this.bus.listen("orders", "items");
		this.bus.capturing();
		this.bus.run("insert into orders values (1, 'a')", "truncate orders cascade");
		List<Captured> events = this.bus.awaitEvents(3);
		assertThat(events).extracting(Captured::type).containsExactly("insert", "truncate", "truncate");
		assertThat(events.subList(1, 3)).extracting(Captured::stream, Captured::ordinal)
			.containsExactlyInAnyOrder(tuple("table:public.orders", events.get(1).ordinal()),
					tuple("table:public.items", events.get(2).ordinal()));
		assertThat(events.subList(1, 3)).extracting(Captured::ordinal).containsExactly(1L, 2L);
	}

	@Test
	void rowsThatAreCopiedInArriveEachOnce() throws Exception {
		this.bus.capturing();
		StringBuilder rows = new StringBuilder();
		for (int i = 1; i <= 10_000; i++) {
			rows.append(i).append('\t').append("copied\n");
		}
		try (Connection connection = this.bus.database.connect()) {
			connection.unwrap(PGConnection.class)
				.getCopyAPI()
				.copyIn("copy orders from stdin", new StringReader(rows.toString()));
		}
		List<Captured> events = this.bus.awaitEvents(10_000);
		assertThat(events).hasSize(10_000);
		assertThat(events).extracting(Captured::ordinal)
			.containsExactlyElementsOf(java.util.stream.LongStream.rangeClosed(1, 10_000).boxed().toList());
		assertThat(events).extracting(Captured::key).doesNotHaveDuplicates();
	}

	@Test
	void changesInFlightOverASchemaChangeAreWhatTheyWere() {
		this.bus.capturing();
		this.bus.stopAll();
		this.bus.run("insert into orders values (1, 'a')", "alter table orders add column note text default 'n'",
				"insert into orders values (2, 'b', 'x')", "alter table orders rename column status to state",
				"update orders set note = 'y' where id = 2", "alter table orders alter column state type int using 7",
				"insert into orders values (3, 8, null)", "alter table orders drop column note",
				"insert into orders values (4, 9)");
		this.bus.capturing();
		assertThat(this.bus.awaitEvents(5)).extracting(Captured::record)
			.containsExactly("{\"id\": 1, \"status\": \"a\"}", "{\"id\": 2, \"note\": \"x\", \"status\": \"b\"}",
					"{\"id\": 2, \"note\": \"y\", \"state\": \"b\"}", "{\"id\": 3, \"note\": null, \"state\": 8}",
					"{\"id\": 4, \"state\": 9}");
	}

	@Test
	void wholeOldRowsArrive() {
		this.bus.run("alter table orders replica identity full");
		this.bus.capturing();
		this.bus.run("insert into orders values (1, 'a')", "update orders set status = 'b'", "delete from orders");
		assertThat(this.bus.awaitEvents(3)).extracting(Captured::previous)
			.containsExactly(null, "{\"id\": 1, \"status\": \"a\"}", "{\"id\": 1, \"status\": \"b\"}");
	}

	@Test
	void partitionsArriveAsTheirRoot() {
		this.bus.run("create table m (id bigint primary key, a text, b text) partition by list (id)",
				"create table m1 partition of m for values in (1)",
				"create table m2 (b text, a text, id bigint not null)",
				"alter table m attach partition m2 for values in (2)");
		this.bus.listen("m");
		this.bus.capturing();
		this.bus.run("insert into m values (1, 'a', 'b')", "insert into m values (2, 'a2', 'b2')",
				"create table m3 partition of m for values in (3)", "insert into m values (3, 'a3', 'b3')");
		assertThat(this.bus.awaitEvents(3)).extracting(Captured::stream, Captured::record)
			.containsExactly(tuple("table:public.m", "{\"a\": \"a\", \"b\": \"b\", \"id\": 1}"),
					tuple("table:public.m", "{\"a\": \"a2\", \"b\": \"b2\", \"id\": 2}"),
					tuple("table:public.m", "{\"a\": \"a3\", \"b\": \"b3\", \"id\": 3}"));
	}

	@Test
	void valuesDoNotDependOnTheDefaultsOfTheDatabase() {
		String name = this.bus.database.name();
		this.bus.run("create table v (id bigint primary key, t timestamptz, d date, i interval, b bytea, f float8)",
				"alter database " + name + " set datestyle = 'SQL, DMY'",
				"alter database " + name + " set intervalstyle = 'sql_standard'",
				"alter database " + name + " set bytea_output = 'escape'",
				"alter database " + name + " set extra_float_digits = -5",
				"alter database " + name + " set timezone = 'Asia/Tokyo'",
				"alter database " + name + " set search_path = 'nowhere', public");
		this.bus.listen("public.v");
		this.bus.capturing();
		this.bus.run("insert into v values (1, '2026-02-03 04:05:06+00', '2026-02-03', '-1 day 2 hours', '\\x0001ff', "
				+ "0.1::float8 + 0.2::float8)");
		assertThat(this.bus.awaitEvents(1)).extracting(Captured::record)
			.containsExactly("{\"b\": \"\\\\x0001ff\", \"d\": \"2026-02-03\", \"f\": 0.30000000000000004, "
					+ "\"i\": \"-1 days +02:00:00\", \"t\": \"2026-02-03T04:05:06+00:00\", \"id\": 1}");
	}

	@Test
	void anIdleDatabaseDoesNotKeepWhatAnotherOneWrites() {
		Capture capture = this.bus.capturing();
		try (TestDatabase other = TestDatabase.create()) {
			other.jdbc()
				.sql("create table filler as select repeat(md5(i::text), 30) from generate_series(1, 30000) i")
				.update();
			long written = LogSequenceNumber
				.valueOf(other.jdbc().sql("select pg_current_wal_lsn()::text").query(String.class).single())
				.asLong();
			await().untilAsserted(() -> assertThat(this.bus.existingSlot().confirmedLsn())
				.isGreaterThan(written - ChangeAppender.WORTH_CONFIRMING));
		}
		assertThat(capture.status().state()).isEqualTo(State.CAPTURING);
		assertThat(this.bus.count()).isZero();
	}

	@Test
	void anIdleServerIsNotWrittenToBecauseOfTheCapture() {
		this.bus.capturing();
		this.bus.run("insert into orders values (1, 'a')");
		long position = lsn(this.bus.awaitEvents(1).get(0));
		await().until(() -> this.bus.existingSlot().confirmedLsn() > position);
		// confirming is itself a change, which must not lead to the next one
		long version = Objects.requireNonNull(this.bus.store.read()).version();
		await().during(Duration.ofSeconds(2))
			.until(() -> Objects.requireNonNull(this.bus.store.read()).version() <= version + 1);
	}

	@Test
	void theServerIsAnsweredAlsoWhileAppendingTakesLongerThanItsTimeout() throws Exception {
		Capture capture = this.bus.start(this.bus.connections("?options=-c%20wal_sender_timeout=1s"));
		CaptureBus.await(capture, State.CAPTURING);
		Integer pid = this.bus.existingSlot().activePid();
		try (Connection connection = this.bus.database.connect(); Statement statement = connection.createStatement()) {
			connection.setAutoCommit(false);
			statement.execute("lock table pgbus.event in share mode");
			// more than the connection's buffers and the batches in between take
			this.bus.run("insert into orders select i, repeat('x', 500) from generate_series(1, 20000) i");
			await().during(Duration.ofSeconds(4)).until(() -> Objects.equals(this.bus.existingSlot().activePid(), pid));
			assertThat(this.bus.count()).isZero();
			connection.rollback();
		}
		this.bus.awaitEvents(20_000);
		assertThat(this.bus.existingSlot().activePid()).isEqualTo(pid);
		assertThat(capture.status().state()).isEqualTo(State.CAPTURING);
	}

	@Test
	void whoIsStoppedWhileAWriterHoldsUpANewSlotStopsAndLeavesNone() throws Exception {
		try (Connection writer = this.bus.database.connect(); Statement statement = writer.createStatement()) {
			writer.setAutoCommit(false);
			statement.execute("insert into orders values (1, 'a')");
			Capture capture = this.bus.start(this.bus.connections(""));
			await().until(() -> this.bus.slot() != null);
			assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> capture.awaitSlot(Duration.ofMillis(100)))
				.withMessage("Changes of tables are not captured: the capture is STARTING; a new slot waits for all "
						+ "transactions that write, see pg_stat_activity.");
			capture.close();
			assertThat(capture.status().state()).isEqualTo(State.STOPPED);
			await().until(() -> this.bus.slot() == null);
			writer.rollback();
		}
	}

	@Test
	void theSlotOfAnotherDatabaseIsNotTouched() {
		try (TestDatabase other = TestDatabase.create()) {
			other.jdbc()
				.sql("select pg_create_logical_replication_slot(?, 'pgoutput')::text")
				.param(this.bus.settings.slot())
				.query(String.class)
				.single();
			Capture capture = this.bus.start(this.bus.connections(""));
			await().until(() -> capture.status().state() == State.FAILING);
			assertThat(capture.status().failure()).isEqualTo("The replication slot \"" + this.bus.settings.slot()
					+ "\" is not this bus's: it is of the plugin pgoutput and the database " + other.name()
					+ ". Set pgbus.capture.slot to a name that no other bus of the server has.");
			capture.close();
			other.jdbc()
				.sql("select pg_drop_replication_slot(?)::text")
				.param(this.bus.settings.slot())
				.query(String.class)
				.single();
		}
	}

	@Test
	void aConnectionToAnotherDatabaseThanTheBusIsRefused() {
		try (TestDatabase other = TestDatabase.create()) {
			Capture capture = this.bus.start(this.bus.connectionsTo(other.jdbcUrl()));
			await().until(() -> capture.status().state() == State.FAILING);
			assertThat(capture.status().failure()).isEqualTo("The capture of changes is connected to another database "
					+ "or server than the bus. Set pgbus.capture.url to the database of the bus.");
			capture.close();
		}
	}

	@Test
	void aRoleThatMayNotReplicateIsToldSo() {
		String role = this.bus.database.name() + "_app";
		this.bus.run("create role " + role + " login password 'x'");
		try {
			Capture capture = this.bus.start(ReplicationConnectionFactory.of(this.bus.database.jdbcUrl(), role, "x"));
			await().until(() -> capture.status().state() == State.FAILING);
			assertThat(capture.status().failure())
				.isEqualTo("Table listeners need a role that may read the write-ahead "
						+ "log, and this one may not. Run as a superuser: alter role ... replication; or set "
						+ "pgbus.capture.username to such a role. Managed databases have a role of their own to grant.");
			this.bus.run("alter role " + role + " replication");
			CaptureBus.await(capture, State.CAPTURING);
			capture.close();
		}
		finally {
			this.bus.run("drop role " + role);
		}
	}

	private static long lsn(Captured event) {
		return LogSequenceNumber.valueOf(event.lsn()).asLong();
	}

}
