package io.pgbus.core;

import java.math.BigDecimal;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import com.zaxxer.hikari.HikariDataSource;
import io.pgbus.EventPublisher;
import io.pgbus.OutgoingEvent;
import io.pgbus.PgBusException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * How publishing goes with the transactions of the caller.
 */
class PublishingTransactionsIntegrationTests {

	private static TestPublisher bus;

	/** In the same database, but nothing that the bus knows of. */
	private static HikariDataSource elsewhere;

	private final EventPublisher publisher = bus.publisher;

	@BeforeAll
	static void createBus() {
		bus = new TestPublisher();
		elsewhere = pool(true);
	}

	private static HikariDataSource pool(boolean autoCommit) {
		HikariDataSource pool = new HikariDataSource();
		pool.setJdbcUrl(bus.database.jdbcUrl());
		pool.setUsername(bus.database.username());
		pool.setPassword(bus.database.password());
		pool.setAutoCommit(autoCommit);
		pool.setMaximumPoolSize(3);
		pool.setMinimumIdle(0);
		return pool;
	}

	@AfterAll
	static void dropBus() {
		elsewhere.close();
		bus.close();
	}

	@BeforeEach
	void clear() {
		bus.wakeUps.clear();
	}

	@Test
	void newStreamAndItsEventsAreRolledBackWithTheCaller() {
		bus.transaction().executeWithoutResult((status) -> {
			this.publisher.publish("rolled back", 1);
			status.setRollbackOnly();
			// which does not keep from more
			this.publisher.publishAll(List.of(OutgoingEvent.to("rolled back").payload(2)));
		});
		assertThat(
				bus.jdbc.sql("select count(*) from pgbus.stream where name = 'rolled back'").query(Long.class).single())
			.isZero();
		assertThat(bus.wakeUps).isEmpty();
	}

	@Test
	void wakeUpWaitsForTheCommit() {
		bus.transaction().executeWithoutResult((status) -> {
			this.publisher.publish("waits", 1);
			assertThat(bus.wakeUps).isEmpty();
		});
		assertThat(bus.wakeUps).hasSize(1);
	}

	@ParameterizedTest
	@ValueSource(ints = { TransactionDefinition.ISOLATION_READ_COMMITTED,
			TransactionDefinition.ISOLATION_REPEATABLE_READ, TransactionDefinition.ISOLATION_SERIALIZABLE })
	void callerMayHaveAnyIsolation(int isolation) {
		String stream = "isolation " + isolation;
		bus.transaction(isolation).executeWithoutResult((status) -> {
			this.publisher.publish(stream, 1);
			this.publisher.publishAll(List.of(OutgoingEvent.to(stream).payload(2)));
		});
		assertThat(bus.count(stream)).isEqualTo(2);
	}

	@ParameterizedTest
	@ValueSource(
			ints = { TransactionDefinition.ISOLATION_REPEATABLE_READ, TransactionDefinition.ISOLATION_SERIALIZABLE })
	void streamThatAnotherMadeSinceTheCallersSnapshotIsAConflictThatCanBeTriedAgain(int isolation) {
		String stream = "made meanwhile " + isolation;
		TransactionTemplate transaction = bus.transaction(isolation);
		assertThatThrownBy(() -> transaction.executeWithoutResult((status) -> {
			bus.jdbc.sql("select 1 from pgbus.stream limit 1").query().listOfRows();
			CompletableFuture.runAsync(() -> this.publisher.publish(stream, "other")).join();
			this.publisher.publish(stream, "own");
		})).isInstanceOf(ConcurrencyFailureException.class);
		transaction.executeWithoutResult((status) -> this.publisher.publish(stream, "own"));
		assertThat(bus.count(stream)).isEqualTo(2);
	}

	@Test
	void readOnlyTransactionIsRefusedAndCanGoOnReading() {
		TransactionTemplate transaction = bus.transaction();
		transaction.setReadOnly(true);
		transaction.executeWithoutResult((status) -> {
			assertThatThrownBy(() -> this.publisher.publish("read-only", 1)).isInstanceOf(PgBusException.class)
				.hasMessageContaining("read-only");
			assertThat(bus.count("read-only")).isZero();
		});
	}

	@Test
	void transactionOnAnotherDataSourceIsNotJoined() {
		TransactionTemplate other = new TransactionTemplate(new JdbcTransactionManager(elsewhere));
		other.setReadOnly(true);
		other.executeWithoutResult((status) -> {
			this.publisher.publish("elsewhere", 1);
			assertThat(bus.wakeUps).hasSize(1);
			status.setRollbackOnly();
		});
		assertThat(bus.count("elsewhere")).isOne();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void connectionThatIsOnlyKeptForAnotherTransactionIsNotTakenForOne(boolean autoCommit) {
		try (HikariDataSource pool = pool(autoCommit)) {
			EventPublisher own = bus.publisher(pool);
			String stream = "kept " + autoCommit;
			new TransactionTemplate(new JdbcTransactionManager(elsewhere)).executeWithoutResult((status) -> {
				// from here on Spring keeps this connection until the other transaction
				// ends
				JdbcClient.create(pool).sql("select 1").query().listOfRows();
				own.publishAll(numbers(stream, 1001));
				assertThat(bus.count(stream)).isEqualTo(1001);
				status.setRollbackOnly();
			});
			assertThat(bus.count(stream)).isEqualTo(1001);
		}
	}

	@Test
	void scopeWithoutATransactionIsNotTakenForOne() {
		try (HikariDataSource pool = pool(false)) {
			EventPublisher own = bus.publisher(pool);
			TransactionTemplate supports = new TransactionTemplate(new JdbcTransactionManager(pool));
			supports.setPropagationBehavior(TransactionDefinition.PROPAGATION_SUPPORTS);
			supports.executeWithoutResult((status) -> {
				JdbcClient.create(pool).sql("select 1").query().listOfRows();
				own.publish("supports", 1);
			});
			assertThat(bus.count("supports")).isOne();
		}
	}

	@Test
	void dataSourceThatIsAwareOfTransactionsIsTheOneBehindIt() {
		EventPublisher aware = bus.publisher(new TransactionAwareDataSourceProxy(bus.dataSource));
		bus.transaction().executeWithoutResult((status) -> {
			aware.publish("aware", 1);
			status.setRollbackOnly();
		});
		assertThat(bus.count("aware")).isZero();
	}

	@Test
	void thousandsOfEventsArePublishedAllOrNone() {
		assertThatThrownBy(() -> this.publisher.publishAll(
				Stream.concat(numbers("all or none", 1500).stream(), Stream.of(tooLongForTheServer())).toList()))
			.isInstanceOf(DataAccessException.class);
		assertThat(bus.count("all or none")).isZero();
	}

	@Test
	void twoTransactionsMayMakeTheSameStreamAtTheSameTime() throws Exception {
		CountDownLatch made = new CountDownLatch(1);
		CountDownLatch commit = new CountDownLatch(1);
		CompletableFuture<?> first = CompletableFuture
			.runAsync(() -> bus.transaction().executeWithoutResult((status) -> {
				this.publisher
					.publishAll(List.of(OutgoingEvent.to("both b").payload(1), OutgoingEvent.to("both a").payload(1)));
				made.countDown();
				awaitUninterruptibly(commit);
			}));
		made.await();
		CompletableFuture<?> second = CompletableFuture.runAsync(() -> bus.transaction()
			.executeWithoutResult((status) -> this.publisher
				.publishAll(List.of(OutgoingEvent.to("both a").payload(2), OutgoingEvent.to("both b").payload(2)))));
		await().until(
				() -> bus.jdbc
					.sql("select exists (select from pg_stat_activity where wait_event = 'transactionid'"
							+ " and datname = current_database())")
					.query(Boolean.class)
					.single());
		commit.countDown();
		CompletableFuture.allOf(first, second).join();
		assertThat(bus.count("both a")).isEqualTo(2);
		assertThat(bus.count("both b")).isEqualTo(2);
	}

	private static List<OutgoingEvent> numbers(String stream, int count) {
		return IntStream.range(0, count).mapToObj((i) -> OutgoingEvent.to(stream).payload(i)).toList();
	}

	/** PostgreSQL has a limit on numbers that JSON does not have. */
	private static OutgoingEvent tooLongForTheServer() {
		return OutgoingEvent.to("all or none").payload(new BigDecimal("1E+200000"));
	}

	private static void awaitUninterruptibly(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
