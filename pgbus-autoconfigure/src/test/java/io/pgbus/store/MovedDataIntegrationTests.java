package io.pgbus.store;

import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.pgbus.PgBusException;
import io.pgbus.StartPosition;
import io.pgbus.testing.DataMove;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * A bus whose rows come to another server, where the transaction ids in them are of the
 * past or of the future.
 * <p>
 * The random moves were seen to fail with parts of {@code rebase()} removed: each branch
 * and each condition of {@code pending}, the ids from 4 on that an earlier move has left,
 * the ids that are put away, and the sequences.
 */
class MovedDataIntegrationTests {

	/** More than are used by what goes on meanwhile. */
	private static final int FAR = 10_000;

	private static final int TRIALS = Integer.getInteger("pgbus.moves", 1);

	private static OwnServer otherServer;

	@BeforeAll
	static void startServer() {
		otherServer = TestDatabase.startOwnServer(Map.of());
	}

	@AfterAll
	static void stopServer() {
		if (otherServer != null) {
			otherServer.close();
		}
	}

	@Test
	void groupsGoOnWhereTheyWereHoweverOftenTheirBusIsMovedToAndFro() {
		for (int trial = 0; trial < TRIALS; trial++) {
			moveToAndFro(trial);
		}
	}

	private static void moveToAndFro(long seed) {
		TestDatabase database = newBus(true);
		MovingModel model = new MovingModel(seed);
		model.use(database);
		model.create("first", StartPosition.earliest());
		model.create("second", StartPosition.earliest());
		model.steps(200);
		for (int move = 0; move < 4; move++) {
			boolean toOther = move % 2 == 0;
			if (move == 1) {
				model.publishNow(1);
			}
			TestDatabase target = newBus(!toOther);
			// to a server that is behind, and back to it when it is far ahead
			boolean targetAhead = move > 1;
			TestDatabase ahead = targetAhead ? target : database;
			long missing = DataMove.nextTransactionId(targetAhead ? database : target) + FAR
					- DataMove.nextTransactionId(ahead);
			DataMove.useTransactionIds(ahead, (int) Math.max(missing, 0));
			model.steps(200);
			Map<String, Set<Long>> expected = model.expected();
			DataMove.copyRows(database, target, move != 2);
			model.leave();
			die(target);
			assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> check(target))
				.withMessageContaining("select \"pgbus\".rebase();");
			assertThat(rebase(target)).isEqualTo(expected.values().stream().mapToLong(Set::size).sum());
			check(target);
			model.use(target);
			if (move % 2 == 1) {
				assertThat(model.drain()).isEqualTo(expected);
			}
			if (move == 2) {
				model.create("third", StartPosition.earliest());
			}
			model.steps(200);
			database.close();
			database = target;
		}
		model.create("late", StartPosition.latest());
		Map<String, Set<Long>> expected = model.expected();
		Map<String, Set<Long>> drained = model.drain();
		assertThat(drained).isEqualTo(expected);
		model.leave();
		database.close();
	}

	@Test
	void eventsThatAreLateWhenTheBusIsMovedAreNotMissing() throws Exception {
		TestDatabase source = newBus(true);
		MovingModel model = new MovingModel(1);
		model.use(source);
		model.create("g", StartPosition.earliest());
		try (Connection late = source.connect(); Statement statement = late.createStatement()) {
			late.setAutoCommit(false);
			statement.execute("select pgbus.publish('s', 'key', 't', '1')");
			model.publishNow(20);
			assertThat(model.drain().get("g")).hasSize(20);
			late.commit();
		}
		TestDatabase target = newBus(false);
		DataMove.useTransactionIds(source, FAR);
		DataMove.copyRows(source, target, true);
		model.leave();
		die(target);
		assertThat(rebase(target)).isOne();
		model.use(target);
		model.publishNow(2);
		assertThat(model.drain().get("g")).hasSize(3).contains(1L);
		target.close();
		source.close();
	}

	@Test
	void whatIsPublishedBeforeTheRebaseIsDelivered() {
		TestDatabase source = newBus(true);
		MovingModel model = new MovingModel(1);
		model.use(source);
		model.create("g", StartPosition.earliest());
		model.publishNow(20);
		assertThat(model.drain().get("g")).hasSize(20);
		TestDatabase target = newBus(false);
		DataMove.useTransactionIds(source, FAR);
		DataMove.copyRows(source, target, true);
		model.leave();
		die(target);
		target.jdbc().sql("select pgbus.publish('s', 'k', 't', '1') from generate_series(1, 3)").query().listOfRows();
		assertThat(rebase(target)).isEqualTo(3);
		model.use(target);
		assertThat(model.drain().get("g")).hasSize(3);
		target.close();
		source.close();
	}

	@Test
	void whatIsKnownOfTablesByIdsOfTheOldServerIsForgotten() {
		TestDatabase source = newBus(true);
		MovingModel model = new MovingModel(1);
		model.use(source);
		model.create("g", StartPosition.earliest());
		DataMove.useTransactionIds(source, FAR);
		JdbcClient jdbc = source.jdbc();
		jdbc.sql("insert into pgbus.table_stream select id, 'public', 'orders' from pgbus.stream").update();
		jdbc.sql("""
				insert into pgbus.table_listener (group_id, schema_name, table_name, stream_id, operations, since)
				select g.id, 'public', 'orders', s.id, '{}', 'FF/0' from pgbus.consumer_group g, pgbus.stream s""")
			.update();
		jdbc.sql("""
				insert into pgbus.backfill (group_id, stream_id, schema_name, table_name, state, joins_live, holds_live,
					chunk_rows, chunk_bytes, timeout, admitted, max_xmax)
				select g.id, s.id, 'public', 'orders', 'running', true, false, 1, 1, '1 s', pg_current_xact_id(),
					pg_current_xact_id()
				from pgbus.consumer_group g, pgbus.stream s""").update();
		jdbc.sql("""
				with chunk as (
					insert into pgbus.backfill_chunk (backfill_id, snapshot, state, rows)
					select id, pg_current_snapshot(), 'open', 5 from pgbus.backfill returning id
				)
				insert into pgbus.cursor_state (cursor_id, version, owner, low_snapshot, low_floor, low_bound,
					high_snapshot, high_floor, high_bound, ceiling, position)
				select -id, 1, 1, '3:3:', 0, '3', '3:3:', 0, '3', 5, 2 from chunk""").update();
		jdbc.sql("insert into pgbus.ledger select -id, 3 from pgbus.backfill_chunk").update();
		jdbc.sql("select pgbus.publish('s', 'k', 'update', jsonb_build_object('xid', pg_current_xact_id()::text))")
			.query()
			.listOfRows();
		TestDatabase target = newBus(false);
		DataMove.copyRows(source, target, true);
		model.leave();
		die(target);
		assertThat(rebase(target)).isOne();
		assertThat(target.jdbc()
			.sql("""
					select concat_ws(' ', l.since, b.admitted, b.max_xmax, k.snapshot, s.version, s.owner, s.ceiling, s.position,
						e.payload ->> 'xid', (select count(*) from pgbus.ledger))
					from pgbus.table_listener l, pgbus.backfill b, pgbus.backfill_chunk k, pgbus.cursor_state s, pgbus.event e
					where s.cursor_id < 0""")
			.query(String.class)
			.single()).isEqualTo("0/0 3:3: 2 5 2 3 1");
		target.close();
		source.close();
	}

	@Test
	void aDumpThatGoesBackToItsServerNeedsNothing() {
		TestDatabase source = newBus(true);
		MovingModel model = new MovingModel(3);
		model.use(source);
		model.create("g", StartPosition.earliest());
		model.steps(300);
		TestDatabase target = newBus(true);
		Map<String, Set<Long>> expected = model.expected();
		DataMove.copyRows(source, target, true);
		model.leave();
		free(target);
		check(target);
		model.use(target);
		assertThat(model.drain()).isEqualTo(expected);
		assertThat(isNoted(target)).isTrue();
		target.close();
		source.close();
	}

	/** As pg_upgrade leaves it, which makes a new cluster around the old files. */
	@Test
	void anotherClusterWithTheSameFilesNeedsNothing() {
		TestDatabase database = newBus(true);
		database.jdbc().sql("""
				do $$ begin
					update pgbus.origin set system_id = '1';
					update pgbus.origin set mark = xmin::text;
				end $$""").update();
		assertThat(isNoted(database)).isFalse();
		check(database);
		assertThat(isNoted(database)).isTrue();
		assertThatNoException().isThrownBy(() -> check(database));
		database.close();
	}

	@Test
	void pgUpgradeNeedsNothing() {
		try (OwnServer old = TestDatabase.startInstalledServer(Map.of())) {
			TestDatabase source = old.createDatabase();
			new SchemaInitializer(new BusDatabase(source.dataSource(), "pgbus")).migrate();
			MovingModel model = new MovingModel(5);
			model.use(source);
			model.create("g", StartPosition.earliest());
			model.steps(200);
			Map<String, Set<Long>> expected = model.expected();
			assertThat(expected.get("g")).isNotEmpty();
			model.leave();
			free(source);
			try (OwnServer upgraded = old.upgrade()) {
				TestDatabase target = upgraded.database(source.name());
				assertThat(isNoted(target)).isFalse();
				check(target);
				assertThat(isNoted(target)).isTrue();
				model.use(target);
				assertThat(model.drain()).isEqualTo(expected);
			}
		}
	}

	@ParameterizedTest
	@ValueSource(strings = {
			"insert into pgbus.event (tx, stream_id, partition, size, type, payload) select %s::text::xid8, 1, 0, 1, 't', '1'",
			"insert into pgbus.cursor_state select 1, 1, now(), null, null, null, null, null, '3:3:', 0, '3', '3:3:', 0, %s::text::xid8, 0, 0",
			"insert into pgbus.cursor_state select 1, 1, now(), null, null, null, null, null, '3:3:', 0, '3', ('3:' || %s + 1 || ':')::pg_snapshot, 0, '3', 0, 0" })
	void anIdFromTheFutureIsNoticedWhateverTheClusterIs(String insert) {
		TestDatabase database = newBus(true);
		JdbcClient jdbc = database.jdbc();
		jdbc.sql(insert.formatted("pg_current_xact_id()::text::bigint")).update();
		assertThatNoException().isThrownBy(() -> check(database));
		jdbc.sql("truncate pgbus.event, pgbus.cursor_state").update();
		jdbc.sql(insert.formatted("(pg_current_xact_id()::text::bigint + 1000000)")).update();
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> check(database))
			.withMessageContaining("Moving a bus");
		database.close();
	}

	@Test
	void aBusIsNotRebasedWhereItWasNotMovedNorWhileSomeoneUsesIt() {
		TestDatabase database = newBus(true);
		MovingModel model = new MovingModel(4);
		model.use(database);
		model.create("g", StartPosition.earliest());
		model.publishNow(10);
		assertThatExceptionOfType(Exception.class).isThrownBy(() -> rebase(database))
			.withMessageContaining("are running")
			.withMessageContaining("model");
		model.leave();
		assertThatExceptionOfType(Exception.class).isThrownBy(() -> rebase(database))
			.withMessageContaining("does not seem to have been moved");
		// where someone knows better it does no harm
		assertThat(database.jdbc().sql("select pgbus.rebase(true)").query(Long.class).single()).isEqualTo(10);
		model.use(database);
		assertThat(model.drain().get("g")).hasSize(10);
		model.leave();
		assertThat(database.jdbc().sql("select pgbus.rebase(true)").query(Long.class).single()).isZero();
		database.close();
	}

	private static TestDatabase newBus(boolean shared) {
		TestDatabase database = shared ? TestDatabase.create() : otherServer.createDatabase();
		new SchemaInitializer(new BusDatabase(database.dataSource(), "pgbus")).migrate();
		return database;
	}

	private static void die(TestDatabase database) {
		database.jdbc().sql("update pgbus.consumer set heartbeat_at = clock_timestamp() - interval '1 hour'").update();
	}

	/** What a new instance does about dead ones. */
	private static void free(TestDatabase database) {
		database.jdbc().sql("delete from pgbus.consumer").update();
		new ConsumerStore(new BusDatabase(database.dataSource(), "pgbus")).freeOrphans();
	}

	private static void check(TestDatabase database) {
		new SchemaInitializer(new BusDatabase(database.dataSource(), "pgbus")).check();
	}

	private static long rebase(TestDatabase database) {
		return database.jdbc().sql("select pgbus.rebase()").query(Long.class).single();
	}

	private static boolean isNoted(TestDatabase database) {
		List<Boolean> noted = database.jdbc().sql("""
				select o.mark = o.xmin::text and o.system_id = (select system_identifier::text from pg_control_system())
				from pgbus.origin o""").query(Boolean.class).list();
		return noted.equals(List.of(true));
	}

}
