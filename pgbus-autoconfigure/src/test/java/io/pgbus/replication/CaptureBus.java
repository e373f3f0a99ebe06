package io.pgbus.replication;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import io.pgbus.ListenedTable;
import io.pgbus.StartPosition;
import io.pgbus.TableOperation;
import io.pgbus.replication.CaptureStatus.State;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.CaptureStore;
import io.pgbus.store.GroupStore;
import io.pgbus.store.SchemaInitializer;
import io.pgbus.store.StreamStore;
import io.pgbus.store.TableInterest;
import io.pgbus.store.TableListenerStore;
import io.pgbus.testing.TestDatabase;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * A bus whose group listens to tables, and captures that a test starts. Its slot has a
 * name of its own and goes with it: one that stayed would keep the write-ahead log of the
 * server that all tests share.
 */
final class CaptureBus implements AutoCloseable {

	static final TableOperation[] ALL = { TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE,
			TableOperation.TRUNCATE, TableOperation.GAP };

	private static final String EVENTS = """
			select s.name as stream, e.type, e.key, e.payload ->> 'ordinal' as ordinal, e.payload ->> 'lsn' as lsn,
				e.payload -> 'record' as record, e.payload -> 'previous' as previous
			from pgbus.event e join pgbus.stream s on s.id = e.stream_id order by e.id
			""";

	final TestDatabase database;

	final JdbcClient jdbc;

	final BusDatabase bus;

	final CaptureStore store;

	final Publications publications;

	final Queue<Integer> wokenStreams = new ConcurrentLinkedQueue<>();

	CaptureSettings settings;

	private final List<Capture> captures = new ArrayList<>();

	CaptureBus() {
		this(TestDatabase.create());
	}

	CaptureBus(TestDatabase database) {
		this.database = database;
		this.jdbc = database.jdbc();
		this.bus = new BusDatabase(database.dataSource(), "pgbus");
		new SchemaInitializer(this.bus).migrate();
		String slot = "s_" + database.name().substring("pgbus_test_".length());
		this.settings = new CaptureSettings(slot, "pgbus", false, GapPolicy.STOP, 500, 1024 * 1024,
				Duration.ofMillis(100), Duration.ofMillis(500), Duration.ofMillis(100));
		this.store = new CaptureStore(this.bus, new TableListenerStore(this.bus), Duration.ofSeconds(30));
		this.publications = new Publications(this.bus, this.settings);
		this.publications.create();
	}

	void onGap(GapPolicy policy) {
		CaptureSettings old = this.settings;
		this.settings = new CaptureSettings(old.slot(), old.publication(), old.failover(), policy, old.batchRows(),
				old.batchBytes(), old.statusInterval(), old.heartbeatInterval(), old.standbyInterval());
	}

	/** Lets a group listen to all operations of tables. */
	void listen(String... tables) {
		TableListenerStore listeners = new TableListenerStore(this.bus);
		List<TableInterest> interests = this.publications
			.admit(List.of(tables).stream().map((name) -> ListenedTable.of(name).operations(ALL)).toList());
		int group = new GroupStore(this.bus, new StreamStore(this.bus, Map.of()))
			.create("group", interests.stream().map((interest) -> interest.table().stream()).toList(),
					StartPosition.earliest())
			.groupId();
		listeners.subscribe(group, interests);
	}

	ReplicationConnectionFactory connections(String parameters) {
		return connectionsTo(this.database.jdbcUrl() + parameters);
	}

	ReplicationConnectionFactory connectionsTo(String url) {
		return ReplicationConnectionFactory.of(url, this.database.username(), this.database.password());
	}

	/** Starts an instance and waits until it captures. */
	Capture capturing() {
		Capture capture = start(connections(""));
		await(capture, State.CAPTURING);
		return capture;
	}

	Capture start(ReplicationConnectionFactory connections) {
		Capture capture = new Capture(this.bus, this.store, connections, this.settings,
				"instance-" + this.captures.size(), this.wokenStreams::add, "test-capture-" + this.captures.size());
		this.captures.add(capture);
		capture.start();
		return capture;
	}

	static void await(Capture capture, State state) {
		org.awaitility.Awaitility.await().until(() -> capture.status().state() == state);
	}

	@Nullable SlotStatus slot() {
		return new Slot(this.bus, this.settings).status();
	}

	SlotStatus existingSlot() {
		return Objects.requireNonNull(slot());
	}

	/** Ends the connection of whoever captures, from the server's side. */
	void terminateCapture() {
		this.jdbc
			.sql("select count(pg_terminate_backend(active_pid)) from pg_replication_slots "
					+ "where slot_name = ? and active_pid is not null")
			.param(this.settings.slot())
			.query(Long.class)
			.single();
	}

	long count() {
		return this.jdbc.sql("select count(*) from pgbus.event").query(Long.class).single();
	}

	List<Captured> awaitEvents(int count) {
		org.awaitility.Awaitility.await().until(() -> count() >= count);
		return events();
	}

	List<Captured> events() {
		return this.jdbc.sql(EVENTS).query(Captured.class).list();
	}

	void run(String... statements) {
		for (String statement : statements) {
			this.jdbc.sql(statement).update();
		}
	}

	void stopAll() {
		this.captures.forEach(Capture::close);
	}

	void dropSlot() {
		org.awaitility.Awaitility.await().until(() -> {
			SlotStatus slot = slot();
			return slot == null || !slot.isActive();
		});
		if (slot() != null) {
			this.jdbc.sql("select pg_drop_replication_slot(?)::text")
				.param(this.settings.slot())
				.query(String.class)
				.single();
		}
	}

	@Override
	public void close() {
		stopAll();
		dropSlot();
		this.database.close();
	}

	record Captured(String stream, String type, String key, @Nullable Long ordinal, @Nullable String lsn,
			@Nullable String record, @Nullable String previous) {

	}

}
