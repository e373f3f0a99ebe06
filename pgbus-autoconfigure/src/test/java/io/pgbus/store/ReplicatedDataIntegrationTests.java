package io.pgbus.store;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.pgbus.PgBusException;
import io.pgbus.StartPosition;
import io.pgbus.testing.DataMove;
import io.pgbus.testing.LogicalReplication;
import io.pgbus.testing.OwnServer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.awaitility.Awaitility.await;

/**
 * A bus that is brought to another server by logical replication, which brings rows and
 * neither tables nor sequences.
 * <p>
 * Seen to fail with partitions published one by one, where half of the events were left
 * out without an error, and where the rows of missing segments are not forgotten.
 */
class ReplicatedDataIntegrationTests {

	private static final int FAR = 10_000;

	private static OwnServer server;

	private final TestDatabase source = TestDatabase.create();

	private final MovingModel model = new MovingModel(1);

	private TestDatabase target;

	@BeforeAll
	static void startServer() {
		server = LogicalReplication.startSubscriber();
	}

	@AfterAll
	static void stopServer() {
		if (server != null) {
			server.close();
		}
	}

	@BeforeEach
	void create() {
		migrate(this.source);
		this.target = server.createDatabase();
		migrate(this.target);
		this.model.use(this.source);
		this.model.create("g", StartPosition.earliest());
		this.model.create("h", StartPosition.earliest());
	}

	@AfterEach
	void close() {
		this.target.close();
		this.source.close();
	}

	@Test
	void aBusThatIsStillBroughtIsRefusedFromTheFirstRowToTheEndOfTheSubscription() {
		this.model.publishNow(10);
		this.model.leave();
		LogicalReplication.empty(this.target);
		assertRefused("nothing in them");
		try (LogicalReplication replication = LogicalReplication.start(this.source, this.target)) {
			replication.awaitCopied();
			String drop = "drop subscription " + replication.name();
			assertRefused(drop);
			// nor is anything changed that is still to come
			this.target.jdbc().sql("update pgbus.bus set schema_version = 6").update();
			assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> migrate(this.target))
				.withMessageContaining(drop);
			assertThat(this.target.jdbc().sql("update pgbus.bus set schema_version = schema_version + 1").update())
				.isOne();
			assertThatExceptionOfType(DataAccessException.class).isThrownBy(() -> rebase(true))
				.withMessageContaining(replication.name());
		}
		rebase(false);
		assertThatNoException().isThrownBy(() -> check(this.target));
	}

	@Test
	void aGroupThatIsToStartAheadIsNoSignOfALostSequenceAndStaysThere() {
		long ahead = 5_000_000_000L;
		this.model.publishNow(10);
		this.model.create("ahead", StartPosition.at(ahead));
		String start = """
				select low_floor + 1 from pgbus.cursor_state s join pgbus.cursor c on c.id = s.cursor_id
				join pgbus.consumer_group g on g.id = c.group_id where g.name = 'ahead'""";
		assertThatNoException().isThrownBy(() -> check(this.source));
		this.model.leave();
		this.source.jdbc().sql("select pgbus.rebase(true)").query(Long.class).single();
		assertThat(this.source.jdbc().sql("select last_value from pgbus.event_id").query(Long.class).single())
			.isEqualTo(10);
		assertThat(this.source.jdbc().sql(start).query(Long.class).list()).containsOnly(ahead);
		assertThatNoException().isThrownBy(() -> check(this.source));
	}

	@Test
	void rowsThatTheNewSchemaHasFromTheBeginningStopTheCopyUntilTheyAreRemoved() {
		this.model.publishNow(10);
		this.model.leave();
		try (LogicalReplication replication = LogicalReplication.subscribe(this.source, this.target)) {
			await().until(() -> this.target.jdbc().sql("""
					select count(*) = 0 from pg_subscription_rel where srsubstate <> 'r'
					and srrelid::regclass::text not in ('pgbus.bus', 'pgbus.segment', 'pgbus.origin',
						'pgbus.retention_lease', 'pgbus.pgbus_schema_history')""").query(Boolean.class).single());
			assertRefused("drop subscription");
			this.target.jdbc()
				.sql("""
						truncate pgbus.bus, pgbus.segment, pgbus.origin, pgbus.retention_lease, pgbus.pgbus_schema_history""")
				.update();
			this.model.leave();
			replication.awaitCaughtUp();
		}
		assertThat(rebase(false)).isEqualTo(20);
		assertThat(this.target.jdbc().sql("select id from pgbus.bus").query(String.class).list())
			.isEqualTo(this.source.jdbc().sql("select id from pgbus.bus").query(String.class).list());
	}

	@Test
	void whereTheOriginWasLeftOutTheSequenceTells() {
		// else there would be ids from the future as well
		long missing = DataMove.nextTransactionId(this.source) + FAR - DataMove.nextTransactionId(this.target);
		DataMove.useTransactionIds(this.target, (int) Math.max(missing, 0));
		Map<String, Set<Long>> expected;
		try (LogicalReplication replication = LogicalReplication.start(this.source, this.target)) {
			replication.awaitCopied();
			this.model.steps(200);
			expected = this.model.expected();
			this.model.leave();
			replication.awaitCaughtUp();
		}
		// as if the row had been here before
		this.target.jdbc().sql("select pgbus.note_origin()").query().listOfRows();
		assertRefused("select \"pgbus\".rebase(true);");
		rebase(true);
		assertThatNoException().isThrownBy(() -> check(this.target));
		this.model.use(this.target);
		assertThat(this.model.drain()).isEqualTo(expected);
	}

	@Test
	void aSequenceThatWasSetBackIsNoticed() {
		this.model.publishNow(10);
		this.model.leave();
		JdbcClient jdbc = this.source.jdbc();
		jdbc.sql("select setval('pgbus.event_id', 9)").query().listOfRows();
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> check(this.source))
			.withMessageContaining("rebase(true)");
		jdbc.sql("select pgbus.rebase(true)").query().listOfRows();
		assertThatNoException().isThrownBy(() -> check(this.source));
		this.model.use(this.source);
		this.model.publishNow(1);
		assertThat(this.model.drain().get("g")).hasSize(11);
	}

	@Test
	void aSegmentThatIsMadeAndUsedMeanwhileStopsTheReplicationUntilItIsMadeThereToo() {
		try (LogicalReplication replication = LogicalReplication.start(this.source, this.target)) {
			replication.awaitCopied();
			this.model.publishNow(10);
			beginSegment(2);
			this.model.publishNow(10);
			await().until(() -> this.source.jdbc()
				.sql("select not active from pg_replication_slots where slot_name = ?")
				.param(replication.name())
				.query(Boolean.class)
				.single());
			this.target.jdbc().sql("create table pgbus.event_2 (like pgbus.event including all)").update();
			this.target.jdbc()
				.sql("alter table pgbus.event attach partition pgbus.event_2 for values from (2000000000) to (3000000000)")
				.update();
			this.model.leave();
			replication.awaitCaughtUp();
		}
		assertThat(rebase(false)).isEqualTo(40);
		this.model.use(this.target);
		this.model.publishNow(1);
		assertThat(this.model.drain().get("g")).hasSize(21);
	}

	@Test
	void segmentsThatAreMadeOrDroppedMeanwhileAreMadeAndDroppedThereAfterwards() {
		JdbcClient jdbc = this.source.jdbc();
		try (LogicalReplication replication = LogicalReplication.start(this.source, this.target)) {
			replication.awaitCopied();
			this.model.publishNow(10);
			assertThat(this.model.drain().get("g")).hasSize(10);
			beginSegment(1);
			this.model.publishNow(10);
			this.model.drain();
			jdbc.sql("update pgbus.stream set retention = '0'").update();
			await().until(() -> afterRound(this.source).equals(List.of("event_1", "event_2")));
			this.model.leave();
			replication.awaitCaughtUp();
		}
		assertThat(rebase(false)).isZero();
		assertThat(segmentTables(this.target)).containsExactly("event_0", "event_1");
		assertThat(this.target.jdbc().sql("select number from pgbus.segment").query(Long.class).list())
			.containsExactly(1L);
		this.model.use(this.target);
		await().until(() -> afterRound(this.target).equals(List.of("event_1", "event_2")));
		this.target.jdbc().sql("select setval('pgbus.event_id', 2000000000)").query().listOfRows();
		this.model.publishNow(1);
		assertThat(this.model.drain().get("g")).hasSize(1);
	}

	@Test
	void whatThereIsOneOfHasASecondAfterwards() {
		this.source.jdbc().sql("delete from pgbus.consumer_group where name = 'h'").update();
		this.model.leave();
		try (LogicalReplication replication = LogicalReplication.start(this.source, this.target)) {
			replication.awaitCaughtUp();
		}
		rebase(false);
		assertThat(this.target.jdbc()
			.sql("select pgbus.publish('new', null, 't', '1') is not null")
			.query(Boolean.class)
			.single()).isTrue();
		GroupStore groups = new GroupStore(new BusDatabase(this.target.dataSource(), "pgbus"),
				new StreamStore(new BusDatabase(this.target.dataSource(), "pgbus"), Map.of()));
		assertThat(groups.create("new", List.of("s"), StartPosition.earliest()).groupId())
			.isNotEqualTo(groups.create("g", List.of("s"), StartPosition.earliest()).groupId());
	}

	@Test
	void anEventWhoseTransactionHappensToHaveTheSameIdInBothServersIsNotDoneAgain() {
		try (LogicalReplication replication = LogicalReplication.start(this.source, this.target)) {
			replication.awaitCopied();
			await().until(() -> {
				long ahead = DataMove.nextTransactionId(this.source) - DataMove.nextTransactionId(this.target);
				DataMove.useTransactionIds((ahead > 0) ? this.target : this.source, (int) Math.abs(ahead));
				this.model.publishNow(1);
				replication.awaitCaughtUp();
				return this.target.jdbc()
					.sql("select exists (select from pgbus.event where tx::xid = xmin)")
					.query(Boolean.class)
					.single();
			});
			this.model.drain();
			this.model.leave();
			replication.awaitCaughtUp();
		}
		assertThat(rebase(false)).isZero();
	}

	private void beginSegment(int number) {
		JdbcClient jdbc = this.source.jdbc();
		while (!segmentTables(this.source).contains("event_" + number)) {
			jdbc.sql("select pgbus.make_segment()").query().listOfRows();
		}
		jdbc.sql("select setval('pgbus.event_id', ? * 1000000000::bigint)").param(number).query().listOfRows();
	}

	private static List<String> afterRound(TestDatabase database) {
		RetentionSettings settings = new RetentionSettings(Duration.ofMinutes(1), 100_000_000, Duration.ofDays(1),
				false, Duration.ofDays(30), false);
		new RetentionRound(new BusDatabase(database.dataSource(), "pgbus"), settings, () -> true).run();
		return segmentTables(database);
	}

	private static List<String> segmentTables(TestDatabase database) {
		return database.jdbc()
			.sql("select relname from pg_class where relname ~ '^event_[0-9]+$' and relkind = 'r' order by 1")
			.query(String.class)
			.list();
	}

	private static void migrate(TestDatabase database) {
		new SchemaInitializer(new BusDatabase(database.dataSource(), "pgbus")).migrate();
	}

	private static void check(TestDatabase database) {
		new SchemaInitializer(new BusDatabase(database.dataSource(), "pgbus")).check();
	}

	private void assertRefused(String reason) {
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> check(this.target))
			.withMessageContaining(reason)
			.withMessageContaining("Moving a bus");
	}

	private long rebase(boolean force) {
		return this.target.jdbc().sql("select pgbus.rebase(?)").param(force).query(Long.class).single();
	}

}
