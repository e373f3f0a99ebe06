package io.pgbus.replication;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import io.pgbus.ListenedTable;
import io.pgbus.PgBusException;
import io.pgbus.TableOperation;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.PublishedTable;
import io.pgbus.store.TableSubscription;
import io.pgbus.store.TableInterest;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.ds.PGSimpleDataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class PublicationsIntegrationTests {

	private static final String MEMBERS = """
			select p.pubname || ' ' || r.prrelid::regclass from pg_publication_rel r
			join pg_publication p on p.oid = r.prpubid order by 1
			""";

	private TestDatabase database;

	private Publications publications;

	@BeforeEach
	void create() {
		this.database = TestDatabase.create();
		this.publications = new Publications(new BusDatabase(this.database.dataSource(), "pgbus"),
				CaptureSettings.DEFAULTS);
	}

	@AfterEach
	void close() {
		this.database.close();
	}

	@Test
	void aTableWithAPrimaryKeyIsPublishedWithAllItsOperations() {
		run("create table orders (id bigint primary key, status text)");
		assertThat(admit(ListenedTable.of("orders"))).singleElement()
			.satisfies((table) -> assertThat(table)
				.isEqualTo(new PublishedTable(oid("orders"), "public", "orders", false)));
		assertThat(members()).containsExactly("pgbus orders");
		assertThat(this.database.jdbc()
			.sql("select pubname, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot from pg_publication "
					+ "order by pubname")
			.query((row, index) -> row.getString(1) + row.getBoolean(2) + row.getBoolean(3) + row.getBoolean(4)
					+ row.getBoolean(5) + row.getBoolean(6))
			.list()).containsExactly("pgbustruetruetruetruetrue", "pgbus_inserttruefalsefalsetruetrue");
		// once more
		admit(ListenedTable.of("public.orders"));
		assertThat(members()).containsExactly("pgbus orders");
	}

	@Test
	void aTableWithoutAPrimaryKeyIsRefusedAndItsUpdatesAndDeletesKeepWorking() {
		run("create table plain (id bigint, status text)", "insert into plain values (1, 'new')");
		assertRefused(ListenedTable.of("plain"),
				"A table listener cannot have the table public.plain: it has no primary key that is checked at once, "
						+ "so its updates and deletes would fail once they are published. Run: alter table public.plain "
						+ "add primary key (...); or: alter table public.plain replica identity full; or listen to "
						+ "inserts only.");
		assertThatCode(() -> run("update plain set status = 'old'", "delete from plain")).doesNotThrowAnyException();
		assertThat(identity("plain")).isEqualTo("d");
	}

	@Test
	void onlyInsertsOfATableWithoutAPrimaryKeyArePublishedAndItsUpdatesAndDeletesKeepWorking() {
		run("create table plain (id bigint, status text)", "insert into plain values (1, 'new')");
		admit(ListenedTable.of("plain").operations(TableOperation.INSERT, TableOperation.TRUNCATE, TableOperation.GAP));
		assertThat(members()).containsExactly("pgbus_insert plain");
		assertThatCode(() -> run("update plain set status = 'old'", "delete from plain")).doesNotThrowAnyException();
	}

	@Test
	void oneRefusedTableKeepsTheOthersOutToo() {
		run("create table orders (id bigint primary key)", "create table plain (id bigint)");
		assertRefused(List.of(ListenedTable.of("orders"), ListenedTable.of("plain")), null);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					create view v as select 1 as id | v | a view, whose changes are not in the write-ahead log. Listen to a table.
					create materialized view m as select 1 as id | m | a materialized view, whose changes are not in the write-ahead log. Listen to a table.
					create sequence s | s | a sequence, whose changes are not in the write-ahead log. Listen to a table.
					create type c as (id int) | c | a type, whose changes are not in the write-ahead log. Listen to a table.
					""")
	void whatIsNotATableIsRefused(String ddl, String name, String message) {
		run(ddl);
		assertRefused(ListenedTable.of(name),
				"A table listener cannot have the table public." + name + ": it is " + message);
	}

	@Test
	void anUnloggedTableIsRefused() {
		run("create unlogged table u (id bigint primary key)");
		assertRefused(ListenedTable.of("u"), "A table listener cannot have the table public.u: it is unlogged, so its "
				+ "changes are not in the write-ahead log. Run: alter table public.u set logged;");
	}

	@Test
	void aTableThatDoesNotExistIsRefused() {
		assertRefused(ListenedTable.of("Orders"),
				"A table listener names the table [Orders], which does not exist on the search path [\"$user\", public]. "
						+ "Make it before the listener starts, or name it as SQL does: perhaps with its schema, and in "
						+ "double quotes where it has upper-case letters.");
	}

	@Test
	void aNameThatIsNoneIsRefused() {
		assertRefused(ListenedTable.of("orders; drop table x"), null);
		assertRefused(ListenedTable.of("a.b.c.d"), null);
		assertRefused(ListenedTable.of("\"unended"), null);
	}

	@Test
	void tablesOfPostgresAndOfTheBusAreRefused() {
		run("create schema pgbus", "create table pgbus.event (id bigint primary key)");
		assertRefused(ListenedTable.of("pg_catalog.pg_class"), "A table listener cannot have the table "
				+ "pg_catalog.pg_class: it belongs to PostgreSQL itself. Listen to another table.");
		assertRefused(ListenedTable.of("pgbus.event"), "A table listener cannot have the table pgbus.event: it belongs "
				+ "to the bus itself. Listen to another table.");
	}

	@Test
	void replicaIdentitiesThatIdentifyNothingAreRefused() {
		run("create table n (id bigint primary key)", "alter table n replica identity nothing",
				"create table i (id bigint not null)", "create unique index i_id on i (id)",
				"alter table i replica identity using index i_id", "drop index i_id",
				"create table late (id bigint primary key deferrable)");
		assertRefused(ListenedTable.of("n"), "A table listener cannot have the table public.n: it has the replica "
				+ "identity \"nothing\", so its updates and deletes would fail once they are published. Run: alter table "
				+ "public.n replica identity default; or listen to inserts only.");
		assertRefused(ListenedTable.of("i"), "A table listener cannot have the table public.i: it has a replica "
				+ "identity by an index that is gone or not valid, so its updates and deletes would fail once they are "
				+ "published. Run: alter table public.i replica identity default; or listen to inserts only.");
		assertRefused(ListenedTable.of("late"), null);
		run("insert into late values (1)", "update late set id = 2", "delete from late");
	}

	@Test
	void aReplicaIdentityByIndexOrOfWholeRowsIsGoodEnough() {
		run("create table i (id bigint not null unique)", "alter table i replica identity using index i_id_key",
				"create table f (id bigint)", "alter table f replica identity full");
		assertThat(admit(ListenedTable.of("i"), ListenedTable.of("f"))).extracting(PublishedTable::wholeRows)
			.containsExactly(false, true);
		assertThatCode(() -> run("insert into i values (1)", "update i set id = 2", "delete from i",
				"insert into f values (1)", "update f set id = 2", "delete from f"))
			.doesNotThrowAnyException();
	}

	@Test
	void columnsNeedWholeRows() {
		run("create table orders (id bigint primary key, status text)");
		ListenedTable wanted = ListenedTable.of("orders").columns("status");
		assertRefused(wanted,
				"A table listener cannot have the table public.orders: it does not send old rows whole, so "
						+ "it is not known which columns have changed. Run: alter table public.orders replica identity full; or "
						+ "listen without columns.");
		run("alter table orders replica identity full");
		assertThat(admit(wanted)).extracting(PublishedTable::wholeRows).containsExactly(true);
	}

	@Test
	void aPartitionedTableIsPublishedByItsRootAndNewPartitionsKeepWorking() {
		run("create table m (id bigint, day date, primary key (id, day)) partition by range (day)",
				"create table m1 partition of m for values from ('2026-01-01') to ('2026-02-01')");
		assertThat(admit(ListenedTable.of("m"))).extracting(PublishedTable::name).containsExactly("m");
		assertThat(members()).containsExactly("pgbus m");
		run("create table m2 partition of m for values from ('2026-02-01') to ('2026-03-01')",
				"insert into m values (1, '2026-02-02')", "update m set id = 2", "update m2 set day = '2026-02-03'",
				"update m set day = '2026-01-03'", "delete from m");
	}

	@Test
	void partitionsThatTheStreamWouldBeWrongAboutAreRefused() {
		run("create table m (id bigint, day date) partition by range (day)",
				"create table m1 partition of m for values from ('2026-01-01') to ('2026-02-01')",
				"alter table m1 add primary key (id)");
		assertRefused(ListenedTable.of("m"),
				"A table listener cannot have the table public.m: it has partitions and no "
						+ "primary key that is checked at once, so its updates and deletes would fail once they are published. "
						+ "Run: alter table public.m add primary key (...); or listen to inserts only.");
		run("alter table m1 drop constraint m1_pkey", "alter table m add primary key (id, day)",
				"alter table m1 replica identity nothing");
		assertRefused(ListenedTable.of("m"), "A table listener cannot have the table public.m: it has the partition "
				+ "public.m1, whose replica identity is neither its primary key nor full. Run: alter table public.m1 "
				+ "replica identity default; or listen to inserts only.");
		run("alter table m1 replica identity full", "alter table m replica identity full");
		assertRefused(ListenedTable.of("m"),
				"A table listener cannot have the table public.m: it has partitions, which "
						+ "do not inherit its replica identity. Run: alter table public.m replica identity default; or listen to "
						+ "inserts only.");
		run("alter table m replica identity default");
		assertRefused(ListenedTable.of("m").columns("day"), "A table listener cannot have the table public.m: it has "
				+ "partitions, so the stream of changes does not tell which columns have changed. Listen without "
				+ "columns.");
		assertRefused(ListenedTable.of("m1"),
				"A table listener cannot have the table public.m1: it is a partition, whose "
						+ "changes come as those of public.m. Listen to public.m, with a filter if need be.");
		assertThat(admit(ListenedTable.of("m"))).hasSize(1);
	}

	@Test
	void quotedNamesAreFoundAndPublished() {
		run("create schema \"Sch\"\"ema\"",
				"create table \"Sch\"\"ema\".\"B\u00fcch.er \ud83d\ude00\" (id bigint primary key)",
				"create table \"orders\" (id bigint primary key)", "create table \"Orders\" (id bigint primary key)");
		assertThat(admit(ListenedTable.of("\"Sch\"\"ema\".\"B\u00fcch.er \ud83d\ude00\""), ListenedTable.of("ORDERS"),
				ListenedTable.of("\"Orders\"")))
			.extracting(PublishedTable::schema, PublishedTable::name)
			.containsExactly(org.assertj.core.groups.Tuple.tuple("Sch\"ema", "B\u00fcch.er \ud83d\ude00"),
					org.assertj.core.groups.Tuple.tuple("public", "orders"),
					org.assertj.core.groups.Tuple.tuple("public", "Orders"));
		assertThat(members()).hasSize(3);
	}

	@Test
	void thePublicationsMayHaveAnyName() {
		run("create table orders (id bigint primary key)");
		String name = "it's \"all\" %I";
		CaptureSettings settings = new CaptureSettings("s", name, false, GapPolicy.STOP, 1, 1,
				java.time.Duration.ofSeconds(1), java.time.Duration.ofSeconds(1), java.time.Duration.ofSeconds(1));
		new Publications(new BusDatabase(this.database.dataSource(), "pgbus"), settings)
			.admit(List.of(ListenedTable.of("orders")));
		assertThat(members()).containsExactly(name + " orders");
	}

	@Test
	void whoDoesNotOwnTheTableNeedsItToBePublished() throws Exception {
		String role = this.database.name() + "_app";
		run("create table orders (id bigint primary key)", "create role " + role + " login password 'x'",
				"create publication pgbus with (publish_via_partition_root = true)",
				"create publication pgbus_insert with (publish = 'insert, truncate', publish_via_partition_root = true)");
		try {
			Publications publications = new Publications(new BusDatabase(dataSource(role), "pgbus"),
					CaptureSettings.DEFAULTS);
			List<ListenedTable> wanted = List.of(ListenedTable.of("orders"));
			assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> publications.admit(wanted))
				.withMessage("A table listener cannot have the table public.orders: it belongs to the role "
						+ this.database.username() + " and is not in the publication \"pgbus\". Run as that role and "
						+ "owner of the publication: alter publication \"pgbus\" add table only public.orders;");
			run("alter publication pgbus add table only public.orders");
			assertThat(publications.admit(wanted)).hasSize(1);
			publications.dropUnused(List.of());
			assertThat(members()).as("which this role could not add again").containsExactly("pgbus orders");
		}
		finally {
			run("drop owned by " + role, "drop role " + role);
		}
	}

	@Test
	void whoMayNotMakeThePublicationIsToldWhatToRun() throws Exception {
		String role = this.database.name() + "_app";
		run("create role " + role + " login password 'x'");
		try {
			Publications publications = new Publications(new BusDatabase(dataSource(role), "pgbus"),
					CaptureSettings.DEFAULTS);
			assertThatExceptionOfType(PgBusException.class).isThrownBy(publications::create)
				.withMessage("The publication \"pgbus\" does not exist and could not be made: ERROR: permission denied "
						+ "for database " + this.database.name()
						+ ". Let a role that may make publications run: create "
						+ "publication \"pgbus\" with (publish = 'insert, update, delete, truncate', "
						+ "publish_via_partition_root = true);");
		}
		finally {
			run("drop role " + role);
		}
	}

	@Test
	void aPublicationThatIsNotAsNeededIsRefusedAndStaysAsItIs() {
		run("create table orders (id bigint primary key)", "create publication pgbus with (publish = 'insert')");
		assertRefused(ListenedTable.of("orders"),
				"The publication \"pgbus\" does not publish what pgbus needs. Run: "
						+ "alter publication \"pgbus\" set (publish = 'insert, update, delete, truncate', "
						+ "publish_via_partition_root = true); or set pgbus.capture.publication to another name.");
		run("drop publication pgbus", "create publication pgbus for all tables");
		assertRefused(ListenedTable.of("orders"),
				"The publication \"pgbus\" is for all tables, and pgbus publishes only "
						+ "tables that are listened to. Drop it, or set pgbus.capture.publication to another name.");
	}

	@Test
	void aTableOfWhichOnlySomeRowsArePublishedIsRefused() {
		if (this.database.jdbc().sql("show server_version_num").query(Integer.class).single() < 150000) {
			return; // there are no such publications
		}
		this.publications.create();
		run("create table orders (id bigint primary key)", "alter publication pgbus add table orders where (id > 5)");
		assertRefused(ListenedTable.of("orders"),
				"A table listener cannot have the table public.orders: it is published "
						+ "with only some of its rows or columns. Run: alter publication \"pgbus\" drop table public.orders; pgbus "
						+ "then adds it whole.");
	}

	@Test
	void theChildrenOfATableAreNotPublishedWithIt() {
		run("create table parent (id bigint primary key)", "create table child (primary key (id)) inherits (parent)");
		admit(ListenedTable.of("parent"));
		assertThat(members()).containsExactly("pgbus parent");
	}

	@Test
	void instancesThatPublishTheSameAtTheSameTimeDoNotFail() throws Exception {
		run("create table a (id bigint primary key)", "create table b (id bigint primary key)");
		int instances = 8;
		CyclicBarrier barrier = new CyclicBarrier(instances);
		ExecutorService executor = Executors.newFixedThreadPool(instances);
		try {
			List<Future<List<TableInterest>>> all = new ArrayList<>();
			for (int i = 0; i < instances; i++) {
				all.add(executor.submit(() -> {
					barrier.await();
					return this.publications.admit(List.of(ListenedTable.of("a"), ListenedTable.of("b")));
				}));
			}
			for (Future<List<TableInterest>> one : all) {
				assertThat(one.get()).hasSize(2);
			}
		}
		finally {
			executor.shutdownNow();
		}
		assertThat(members()).containsExactly("pgbus a", "pgbus b");
	}

	@Test
	void aTableIsPublishedWhileItIsReadAndWritten() throws Exception {
		run("create table orders (id bigint primary key)");
		try (Connection writer = this.database.connect(); Statement statement = writer.createStatement()) {
			writer.setAutoCommit(false);
			statement.execute("insert into orders values (1)");
			admit(ListenedTable.of("orders"));
			statement.execute("update orders set id = 2");
			writer.commit();
		}
		assertThat(members()).containsExactly("pgbus orders");
	}

	@Test
	void tablesThatNobodyWantsAreTakenOut() {
		run("create table a (id bigint primary key)", "create table b (id bigint primary key)",
				"create table plain (id bigint)", "create schema s", "create table s.a (id bigint primary key)");
		admit(ListenedTable.of("a"), ListenedTable.of("b"), ListenedTable.of("s.a"),
				ListenedTable.of("plain").operations(TableOperation.INSERT));
		List<TableSubscription> wanted = List.of(new TableSubscription(1, "g", "public", "a", 1, 8, null,
				ListenedTable.DEFAULT_OPERATIONS, Set.of(), 0));
		assertThat(this.publications.hasUnused(wanted)).isTrue();
		this.publications.dropUnused(wanted);
		assertThat(members()).containsExactly("pgbus a");
		assertThat(this.publications.hasUnused(wanted)).isFalse();
		this.publications.dropUnused(List.of());
		assertThat(members()).isEmpty();
	}

	/** Also that no publication has been changed. */
	private void assertRefused(ListenedTable wanted, @org.jspecify.annotations.Nullable String message) {
		assertRefused(List.of(wanted), message);
	}

	private void assertRefused(List<ListenedTable> wanted, @org.jspecify.annotations.Nullable String message) {
		List<String> before = members();
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> this.publications.admit(wanted))
			.satisfies((ex) -> {
				if (message != null) {
					assertThat(ex).hasMessage(message);
				}
			});
		assertThat(members()).isEqualTo(before);
	}

	private List<PublishedTable> admit(ListenedTable... wanted) {
		return this.publications.admit(List.of(wanted)).stream().map(TableInterest::table).toList();
	}

	private List<String> members() {
		return this.database.jdbc().sql(MEMBERS).query(String.class).list();
	}

	private int oid(String table) {
		return this.database.jdbc()
			.sql("select '" + table + "'::regclass::oid::bigint")
			.query(Long.class)
			.single()
			.intValue();
	}

	private String identity(String table) {
		return this.database.jdbc()
			.sql("select relreplident from pg_class where oid = '" + table + "'::regclass")
			.query(String.class)
			.single();
	}

	private PGSimpleDataSource dataSource(String role) throws SQLException {
		PGSimpleDataSource dataSource = new PGSimpleDataSource();
		dataSource.setUrl(this.database.jdbcUrl());
		dataSource.setUser(role);
		dataSource.setPassword("x");
		return dataSource;
	}

	private void run(String... statements) {
		for (String statement : statements) {
			this.database.jdbc().sql(statement).update();
		}
	}

}
