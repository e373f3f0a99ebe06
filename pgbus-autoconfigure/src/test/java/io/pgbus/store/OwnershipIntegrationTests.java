package io.pgbus.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import io.pgbus.StartPosition;
import io.pgbus.store.GroupStore.GroupIds;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * The rules that make a second effect impossible, each alone: a claim takes the version
 * that it saw, a late owner meets the version, or it meets the ledger's key, and a read
 * finds what is done. Their tests were each seen to fail without the rule.
 */
class OwnershipIntegrationTests {

	private final TestDatabase testDatabase = TestDatabase.create();

	private final JdbcClient jdbc = JdbcClient.create(this.testDatabase.dataSource(20));

	private final BusDatabase database = new BusDatabase(this.testDatabase.dataSource(), "pgbus");

	private final TransactionTemplate transaction = new TransactionTemplate(
			new JdbcTransactionManager(this.testDatabase.dataSource()));

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Ledger ledger = new Ledger(this.database);

	private ConsumerStore consumers;

	private CursorStore cursors;

	private GroupIds group;

	@BeforeEach
	void createBus() {
		new SchemaInitializer(this.database).migrate();
		StreamStore streams = new StreamStore(this.database, Map.of("s", 4));
		streams.createDeclared();
		this.group = new GroupStore(this.database, streams).create("g", List.of("s"), StartPosition.earliest());
		this.consumers = new ConsumerStore(this.database);
		this.cursors = new CursorStore(this.database,
				new Subscription(this.group.groupId(), this.group.streamIds(), null, null, 100, 1_000_000));
		this.jdbc.sql("create table effect (by text)").update();
	}

	@AfterEach
	void close() {
		this.threads.shutdownNow();
		this.testDatabase.close();
	}

	/**
	 * Fails without the version in the ledger's look ({@code Ledger.LOOK}): the successor
	 * is done and has deleted its ledger row, so there is nothing else to meet.
	 */
	@Test
	void anOwnerThatComesTooLateMeetsTheVersion() {
		publish(0);
		Holder dead = register();
		Claim stale = claim(dead);
		Claim claim = takeOver(dead);
		List<Long> ids = ids(claim);
		assertThat(handle(claim, "successor")).isTrue();
		assertThat(this.cursors.release(claim, claim.readingTo(), ids, null)).isTrue();
		assertThat(count("ledger")).isZero();
		assertThat(handle(stale, "late")).isFalse();
		assertThat(this.cursors.release(stale, stale.readingTo(), ids, null)).isFalse();
		assertThat(effects()).containsExactly("successor");
	}

	/**
	 * Fails without the ledger's primary key: the late owner has looked before the
	 * successor came, and commits after it has read.
	 */
	@Test
	void aSuccessorOfAnOwnerThatIsStillAtItMeetsTheLedgersKey() {
		publish(0);
		Holder dead = register();
		Claim stale = claim(dead);
		Future<Boolean> successor = this.transaction.execute((status) -> {
			assertThat(this.ledger.enter(stale, dead, ids(stale))).isTrue();
			addEffect("late");
			Claim claim = takeOver(dead);
			assertThat(ids(claim)).isEqualTo(ids(stale));
			Future<Boolean> handled = this.threads.submit(() -> handle(claim, "successor"));
			// it waits for the outcome
			await().until(() -> handled.isDone() || waitsForTransaction());
			return handled;
		});
		assertThatExceptionOfType(ExecutionException.class)
			.isThrownBy(() -> Objects.requireNonNull(successor).get(30, TimeUnit.SECONDS))
			.withCauseInstanceOf(DuplicateKeyException.class);
		assertThat(effects()).containsExactly("late");
	}

	/**
	 * As above, but what the late owner did is rolled back.
	 */
	@Test
	void aSuccessorGoesOnWhenWhatItMetIsRolledBack() throws Exception {
		publish(0);
		Holder dead = register();
		Claim stale = claim(dead);
		Future<Boolean> successor = this.transaction.execute((status) -> {
			assertThat(this.ledger.enter(stale, dead, ids(stale))).isTrue();
			addEffect("late");
			Claim claim = takeOver(dead);
			Future<Boolean> handled = this.threads.submit(() -> handle(claim, "successor"));
			await().until(this::waitsForTransaction);
			status.setRollbackOnly();
			return handled;
		});
		assertThat(Objects.requireNonNull(successor).get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(effects()).containsExactly("successor");
	}

	/**
	 * Fails if the version of a claim is the next number
	 * ({@code CursorStore.NEXT_VERSION} as <code>t.version + 1</code>): a crash of the
	 * server takes a claim with it that was not on disk yet, and the process that has
	 * made it lives.
	 */
	@Test
	void aClaimThatWasLostWithTheServerIsNotTakenForALaterOne() {
		publish(0);
		this.jdbc.sql("create table on_disk as select * from pgbus.cursor_state").update();
		Claim lost = claim(register());
		this.jdbc.sql("delete from pgbus.cursor_state").update();
		this.jdbc.sql("insert into pgbus.cursor_state select * from on_disk").update();
		Claim claim = claim(register());
		assertThat(claim.cursorId()).isEqualTo(lost.cursorId());
		assertThat(handle(lost, "who does not know")).isFalse();
		assertThat(this.cursors.release(lost, lost.readingTo(), List.of(), null)).isFalse();
		assertThat(handle(claim, "successor")).isTrue();
		assertThat(effects()).containsExactly("successor");
	}

	/**
	 * Fails if a claim takes the state that its snapshot shows instead of deleting it
	 * ({@code taken} in {@code CursorStore.TAKE} as a select): a claim that came between
	 * is not seen then, and both write the next version.
	 */
	@Test
	void ofClaimsThatComeTogetherOneTakesTheCursor() throws Exception {
		int workers = 8;
		Map<String, String> owners = new ConcurrentHashMap<>();
		Set<Integer> held = ConcurrentHashMap.newKeySet();
		ConcurrentLinkedQueue<String> violations = new ConcurrentLinkedQueue<>();
		CyclicBarrier start = new CyclicBarrier(workers);
		int consumer = register().consumerId();
		List<Callable<Void>> tasks = new ArrayList<>();
		for (int worker = 0; worker < workers; worker++) {
			Holder holder = new Holder(consumer, worker);
			tasks.add(() -> {
				start.await(30, TimeUnit.SECONDS);
				for (int i = 0; i < 150; i++) {
					publish(i % 4);
					Claim claim = this.cursors.claim(holder, List.of());
					if (claim == null) {
						continue;
					}
					String other = owners.put(claim.cursorId() + " v" + claim.version(), "worker " + holder.worker());
					if (other != null || !held.add(claim.cursorId())) {
						violations.add(claim.cursorId() + " v" + claim.version() + " is held by two");
					}
					held.remove(claim.cursorId());
					if (!this.cursors.release(claim, claim.readingTo(), List.of(), null)) {
						violations.add(claim.cursorId() + " v" + claim.version() + " was lost");
					}
				}
				return null;
			});
		}
		for (Future<Void> task : this.threads.invokeAll(tasks)) {
			task.get();
		}
		assertThat(violations).isEmpty();
		assertThat(owners).isNotEmpty();
	}

	/**
	 * Fails if a read asks only as long as it finds something what is done already: a
	 * failed event that was tried again with success, ahead of the position, is behind
	 * others that nobody has handled. Held again for its key, it would be tried again.
	 */
	@Test
	void whatWasDoneAheadOfThePositionIsFoundByWhoeverReadsLess() {
		for (int i = 0; i < 5; i++) {
			publish(0);
		}
		FailureStore failures = new FailureStore(this.database);
		Holder first = register();
		Claim all = claim(first);
		StoredEvent failed = all.events().get(3);
		assertThat(failures.record(all, failed,
				new FailureStore.Failure(Duration.ZERO, true, "java.lang.Exception", null, null)))
			.isTrue();
		Claim again = takeOver(first);
		assertThat(again.done()).containsExactly(failed.id());
		FailureStore.Due due = failures.due(again, null, 10).get(0);
		assertThat(failures.resolve(again, due)).isTrue();
		assertThat(failures.hold(again, List.of(failed))).isTrue();
		assertThat(count("failed_event")).isZero();
		long done = again.events().get(0).id();
		assertThat(this.cursors.release(again, done, List.of(), null)).isTrue();
		CursorStore one = new CursorStore(this.database,
				new Subscription(this.group.groupId(), this.group.streamIds(), null, null, 1, 1_000_000));
		Holder reader = register();
		Claim claim = Objects.requireNonNull(one.claim(reader, List.of()));
		List<Long> read = new ArrayList<>();
		while (claim.hasMore()) {
			read.addAll(ids(claim));
			claim = Objects.requireNonNull(one.advance(claim, reader, claim.readingTo(), claim.done()));
		}
		read.addAll(ids(claim));
		assertThat(read).containsExactly(all.events().get(1).id(), all.events().get(2).id(), all.events().get(4).id());
	}

	private Holder register() {
		return new Holder(this.consumers.register("test", Duration.ofMinutes(1)), 1);
	}

	private Claim claim(Holder holder) {
		return Objects.requireNonNull(this.cursors.claim(holder, List.of()));
	}

	/** Unlike {@code bury}, this leaves the transactions of the dead alone. */
	private Claim takeOver(Holder dead) {
		this.consumers.remove(dead.consumerId());
		return claim(register());
	}

	/** What a handler's transaction does. */
	private boolean handle(Claim claim, String by) {
		return Boolean.TRUE.equals(this.transaction.execute((status) -> {
			boolean held = this.ledger.enter(claim, new Holder(1, 1), ids(claim));
			if (held) {
				addEffect(by);
			}
			else {
				status.setRollbackOnly();
			}
			return held;
		}));
	}

	private static List<Long> ids(Claim claim) {
		return claim.events().stream().map(StoredEvent::id).toList();
	}

	private void publish(int partition) {
		this.jdbc.sql("""
				insert into pgbus.event (stream_id, partition, size, type, key, payload)
				select id, ?, 1, 'test', null, '1' from pgbus.stream""").param(partition).update();
	}

	private void addEffect(String by) {
		this.jdbc.sql("insert into effect values (?)").param(by).update();
	}

	private List<String> effects() {
		return this.jdbc.sql("select by from effect").query(String.class).list();
	}

	private long count(String table) {
		return this.jdbc.sql("select count(*) from pgbus." + table).query(Long.class).single();
	}

	private boolean waitsForTransaction() {
		// apart, since what a transaction has seen of pg_stat_activity it sees again
		return this.database.own("""
				select exists (select from pg_stat_activity where datname = current_database()
				and wait_event_type = 'Lock' and wait_event = 'transactionid')""").query(Boolean.class).single();
	}

}
