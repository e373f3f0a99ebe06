package io.pgbus.testing;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class TestDatabaseIntegrationTests {

	@Test
	void everyDatabaseIsFreshAndEmpty() {
		try (TestDatabase one = TestDatabase.create(); TestDatabase other = TestDatabase.create()) {
			one.jdbc().sql("create table thing (id bigint)").update();
			assertThat(one.name()).isNotEqualTo(other.name());
			assertThat(other.jdbc()
				.sql("select count(*) from pg_class where relnamespace = 'public'::regnamespace")
				.query(Long.class)
				.single()).isZero();
		}
	}

	@Test
	void jdbcUrlUsernameAndPasswordLeadToTheDatabase() throws SQLException {
		try (TestDatabase database = TestDatabase.create(); Connection connection = database.connect()) {
			assertThat(connection.getCatalog()).isEqualTo(database.name());
			assertThat(database.jdbcUrl()).contains("/" + database.name());
			assertThat(database.springProperties()).contains("spring.datasource.url=" + database.jdbcUrl());
		}
	}

	@Test
	void closeDropsADatabaseThatIsStillInUse() throws SQLException {
		TestDatabase database = TestDatabase.create();
		try (Connection connection = database.connect(); Statement statement = connection.createStatement()) {
			statement.execute("select pg_create_logical_replication_slot('" + database.name() + "', 'pgoutput')");
			connection.setAutoCommit(false);
			statement.execute("create table thing (id bigint)");
			statement.execute("prepare transaction '" + database.name() + "'");
			connection.commit();
			database.close();
		}
		try (TestDatabase other = TestDatabase.create()) {
			assertThat(other.jdbc()
				.sql("select count(*) from pg_database where datname = ?")
				.param(database.name())
				.query(Long.class)
				.single()).isZero();
		}
	}

	@Test
	void serverAllowsLogicalDecodingAndPreparedTransactions() {
		try (TestDatabase database = TestDatabase.create()) {
			assertThat(database.jdbc().sql("show wal_level").query(String.class).single()).isEqualTo("logical");
			assertThat(database.jdbc().sql("show max_prepared_transactions").query(Integer.class).single())
				.isGreaterThanOrEqualTo(10);
		}
	}

	@ParameterizedTest
	@EnumSource
	void ownServerKeepsItsDataAndItsPortAcrossARestart(OwnServer.StopMode mode) {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of("application_name", "it's mine"))) {
			TestDatabase database = server.createDatabase();
			database.jdbc().sql("create table thing as select 42 as id").update();
			String url = database.jdbcUrl();
			String started = database.jdbc()
				.sql("select pg_postmaster_start_time()::text")
				.query(String.class)
				.single();
			server.restart(mode);
			assertThat(database.jdbcUrl()).isEqualTo(url).contains(":" + server.port() + "/");
			assertThat(database.jdbc().sql("select id from thing").query(Integer.class).single()).isEqualTo(42);
			assertThat(database.jdbc().sql("select pg_postmaster_start_time()::text").query(String.class).single())
				.isNotEqualTo(started);
		}
	}

	@Test
	void ownServerRefusesConnectionsWhileItIsStopped() throws SQLException {
		try (OwnServer server = TestDatabase.startOwnServer(Map.of())) {
			TestDatabase database = server.createDatabase();
			server.stop(OwnServer.StopMode.FAST);
			assertThatExceptionOfType(SQLException.class).isThrownBy(database::connect);
			server.start();
			try (Connection connection = database.connect()) {
				assertThat(connection.isValid(5)).isTrue();
			}
		}
	}

}
