package io.pgbus.store;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import io.pgbus.StartPosition;
import io.pgbus.store.FailureStore.Due;
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
 * The rules that make a second effect impossible where the effects are in another
 * database than the bus. Their tests were each seen to fail without the rule.
 */
class InboxIntegrationTests {

	private final TestDatabase bus = TestDatabase.create();

	private final TestDatabase data = TestDatabase.create();

	private final BusDatabase database = new BusDatabase(this.bus.dataSource(), "pgbus");

	private final BusDatabase own = new BusDatabase(this.data.dataSource(20), "own");

	private final JdbcClient jdbc = JdbcClient.create(this.own.dataSource());

	private final TransactionTemplate transaction = new TransactionTemplate(
			new JdbcTransactionManager(this.own.dataSource()));

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private Inbox inbox;

	private ConsumerStore consumers;

	private CursorStore cursors;

	@BeforeEach
	void createBus() {
		new SchemaInitializer(this.database).migrate();
		new SchemaInitializer(this.own).migrate();
		StreamStore streams = new StreamStore(this.database, Map.of("s", 1));
		streams.createDeclared();
		GroupIds group = new GroupStore(this.database, streams).create("g", List.of("s"), StartPosition.earliest());
		this.consumers = new ConsumerStore(this.database);
		this.cursors = cursors(group, 100);
		this.inbox = new Inbox(this.own, this.database.busId());
		this.jdbc.sql("create table effect (by text)").update();
	}

	@AfterEach
	void close() {
		this.threads.shutdownNow();
		this.bus.close();
		this.data.close();
	}

	/**
	 * Fails without the look ({@code Inbox.LOOK}): the successor is done and its entry is
	 * gone, so there is nothing else to meet.
	 */
	@Test
	void anOwnerThatComesTooLateMeetsTheHigherVersion() {
		publish();
		Holder dead = register();
		Claim stale = claim(dead);
		assertThat(this.inbox.takeUp(stale)).isEmpty();
		Holder successor = register();
		Claim claim = takeOver(dead, successor);
		assertThat(this.inbox.takeUp(claim)).isEmpty();
		assertThat(handle(claim, "successor")).isTrue();
		release(claim);
		publish();
		assertThat(this.inbox.takeUp(claim(successor))).isEmpty();
		assertThat(entries()).isZero();
		assertThat(handle(stale, "late")).isFalse();
		assertThat(this.inbox.takeUp(stale)).isNull();
		assertThat(effects()).containsExactly("successor");
	}

	/**
	 * Fails without the primary key of the entries: the late owner has looked before the
	 * successor came, and commits after it was told what is done.
	 */
	@Test
	void aSuccessorOfAnOwnerThatIsStillAtItMeetsTheEntrysKey() {
		publish();
		Holder dead = register();
		Claim stale = claim(dead);
		this.inbox.takeUp(stale);
		Future<Boolean> successor = this.transaction.execute((status) -> {
			assertThat(this.inbox.enter(stale, dead, ids(stale))).isTrue();
			addEffect("late");
			Claim claim = takeOver(dead, register());
			assertThat(this.inbox.takeUp(claim)).isEmpty();
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

	@Test
	void whatTheBusWasNotToldIsKnownToTheNextOwner() {
		publish();
		publish();
		Holder dead = register();
		Claim claim = claim(dead);
		this.inbox.takeUp(claim);
		enter(claim, ids(claim).subList(0, 1));
		Claim next = takeOver(dead, register());
		assertThat(ids(next)).isEqualTo(ids(claim));
		assertThat(this.inbox.takeUp(next)).isEqualTo(Set.copyOf(ids(claim).subList(0, 1)));
	}

	/**
	 * Fails if entries that the position has not reached are deleted as well.
	 */
	@Test
	void entriesBeyondWhatIsReadNowAreKept() {
		for (int i = 0; i < 4; i++) {
			publish();
		}
		Holder dead = register();
		Claim claim = claim(dead);
		this.inbox.takeUp(claim);
		enter(claim, ids(claim));
		this.consumers.remove(dead.consumerId());
		GroupIds group = new GroupIds(1, List.of(1));
		Claim small = Objects.requireNonNull(cursors(group, 2).claim(register(), List.of()));
		assertThat(this.inbox.takeUp(small)).isEqualTo(Set.copyOf(ids(small))).hasSize(2);
		Claim rest = Objects
			.requireNonNull(cursors(group, 2).advance(small, new Holder(1, 1), small.readingTo(), List.of()));
		assertThat(this.inbox.takeUp(rest)).isEqualTo(Set.copyOf(ids(rest))).hasSize(2);
		assertThat(entries()).isEqualTo(2);
	}

	/**
	 * Fails without {@code Inbox.IS_OVERTAKEN} in {@code Inbox.FORGET}: the late owner
	 * takes what the successor has done in its window for what is left of an earlier one.
	 */
	@Test
	void anOwnerThatTakesUpTooLateDeletesNothing() {
		publish();
		Holder dead = register();
		Claim stale = claim(dead);
		Holder second = register();
		release(takeOver(dead, second));
		publish();
		Claim claim = claim(second);
		assertThat(claim.window()).isNotEqualTo(stale.window());
		this.inbox.takeUp(claim);
		enter(claim, ids(claim));
		assertThat(this.inbox.takeUp(stale)).isNull();
		assertThat(this.inbox.takeUp(takeOver(second, register()))).isEqualTo(Set.copyOf(ids(claim)));
	}

	/**
	 * A window that a crash takes with it would come back as another one, and what is
	 * done of it would count as done of an earlier one.
	 */
	@Test
	void claimsAreOnDiskBeforeAHandlerCommitsElsewhere() {
		this.bus.jdbc().sql("create table flushed (setting text)").update();
		this.bus.jdbc()
			.sql("""
					create function note() returns trigger language plpgsql as $$
					begin insert into flushed values (current_setting('synchronous_commit')); return null; end $$""")
			.update();
		this.bus.jdbc().sql("create trigger note after insert on pgbus.cursor_state execute function note()").update();
		publish();
		release(claim(register()));
		publish();
		CursorStore local = new CursorStore(this.database, new Subscription(1, List.of(1), null, null, 1, 1000));
		assertThat(local.claim(register(), List.of())).isNotNull();
		assertThat(this.bus.jdbc().sql("select setting from flushed").query(String.class).list()).containsExactly("on",
				"on", "off");
	}

	@Test
	void entriesAndVersionsGoWithTheirWindows() {
		Holder holder = register();
		for (int i = 0; i < 20; i++) {
			publish();
			Claim claim = claim(holder);
			assertThat(this.inbox.takeUp(claim)).isEmpty();
			enter(claim, ids(claim));
			release(claim);
		}
		assertThat(entries()).isOne();
		assertThat(this.jdbc.sql("select count(*) from own.inbox").query(Long.class).single()).isOne();
	}

	@Test
	void aFailedEventIsEnteredOncePerFailure() {
		publish();
		Holder holder = register();
		Claim claim = claim(holder);
		this.inbox.takeUp(claim);
		Due due = new Due(claim.events().get(0), 1, 7);
		assertThat(enter(claim, holder, due)).isTrue();
		assertThatExceptionOfType(DuplicateKeyException.class).isThrownBy(() -> enter(claim, holder, due));
		assertThat(this.inbox.isDone(claim, due.event().id())).isFalse();
		assertThat(enter(claim, holder, new Due(due.event(), 1, 8))).isTrue();
		this.inbox.forget(claim, due);
		assertThat(entries()).isOne();
	}

	@Test
	void transactionsOfADeadConsumerAreEnded() {
		publish();
		Holder dead = register();
		Claim claim = claim(dead);
		this.inbox.takeUp(claim);
		assertThatExceptionOfType(RuntimeException.class).isThrownBy(() -> this.transaction.execute((status) -> {
			this.inbox.enter(claim, dead, ids(claim));
			new Inbox(this.own, this.own.busId()).terminate(dead.consumerId());
			addEffect("of a consumer of another bus");
			this.inbox.terminate(dead.consumerId() + 1);
			addEffect("of another consumer");
			this.inbox.terminate(dead.consumerId());
			return null;
		})).satisfies((ex) -> assertThat(DatabaseTrouble.of(ex)).isEqualTo(DatabaseTrouble.OUTAGE));
		assertThat(effects()).isEmpty();
	}

	private CursorStore cursors(GroupIds group, int batchSize) {
		return new CursorStore(this.database,
				new Subscription(group.groupId(), group.streamIds(), null, null, batchSize, 1_000_000, true));
	}

	private Holder register() {
		return new Holder(this.consumers.register("test", Duration.ofMinutes(1)), 1);
	}

	private Claim claim(Holder holder) {
		return Objects.requireNonNull(this.cursors.claim(holder, List.of()));
	}

	private Claim takeOver(Holder dead, Holder successor) {
		this.consumers.remove(dead.consumerId());
		return claim(successor);
	}

	private void release(Claim claim) {
		assertThat(this.cursors.release(claim, claim.readingTo(), List.of(), null)).isTrue();
	}

	/** What a handler's transaction does. */
	private boolean handle(Claim claim, String by) {
		return Boolean.TRUE.equals(this.transaction.execute((status) -> {
			boolean held = this.inbox.enter(claim, new Holder(1, 1), ids(claim));
			if (held) {
				addEffect(by);
			}
			else {
				status.setRollbackOnly();
			}
			return held;
		}));
	}

	private void enter(Claim claim, List<Long> ids) {
		this.transaction
			.executeWithoutResult((status) -> assertThat(this.inbox.enter(claim, new Holder(1, 1), ids)).isTrue());
	}

	private boolean enter(Claim claim, Holder holder, Due due) {
		return Boolean.TRUE.equals(this.transaction.execute((status) -> this.inbox.enter(claim, holder, due)));
	}

	private static List<Long> ids(Claim claim) {
		return claim.events().stream().map(StoredEvent::id).toList();
	}

	private void publish() {
		this.bus.jdbc().sql("select pgbus.publish('s', null, 'test', '1')").query(Long.class).single();
	}

	private void addEffect(String by) {
		this.jdbc.sql("insert into effect values (?)").param(by).update();
	}

	private List<String> effects() {
		return this.jdbc.sql("select by from effect").query(String.class).list();
	}

	private long entries() {
		return this.jdbc.sql("select count(*) from own.inbox_entry").query(Long.class).single();
	}

	private boolean waitsForTransaction() {
		// apart, since what a transaction has seen of pg_stat_activity it sees again
		return this.own.own("""
				select exists (select from pg_stat_activity where datname = current_database()
				and wait_event_type = 'Lock' and wait_event = 'transactionid')""").query(Boolean.class).single();
	}

}
