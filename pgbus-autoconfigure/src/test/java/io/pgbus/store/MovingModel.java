package io.pgbus.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

import io.pgbus.StartPosition;
import io.pgbus.testing.TestDatabase;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Random steps on a bus that is moved from database to database: transactions that
 * publish, stay open, and end one way or the other, and groups that do some of what they
 * read. Knows what each group has still to be given.
 */
final class MovingModel {

	private static final int OPEN = 4;

	private final Random random;

	private final Map<String, Group> groups = new LinkedHashMap<>();

	/** By id: its partition is of no interest here. */
	private final Set<Long> published = new TreeSet<>();

	private final List<Transaction> open = new ArrayList<>();

	private TestDatabase testDatabase;

	private BusDatabase database;

	private int consumerId;

	MovingModel(long seed) {
		this.random = new Random(seed);
	}

	/** Goes on in a database, which has the bus. */
	void use(TestDatabase testDatabase) {
		this.testDatabase = testDatabase;
		this.database = new BusDatabase(testDatabase.dataSource(), "pgbus");
		this.consumerId = new ConsumerStore(this.database).register("model", Duration.ofMinutes(1));
		this.groups.values().forEach(Group::forgetClaim);
	}

	/** What is open where the bus was is not moved, and comes to nothing. */
	void leave() {
		this.open.forEach((transaction) -> transaction.end(false));
		this.open.clear();
		// as when a process is killed
		this.testDatabase.jdbc()
			.sql("update pgbus.consumer set heartbeat_at = clock_timestamp() - interval '1 hour'")
			.update();
	}

	void create(String group, StartPosition start) {
		GroupStore.GroupIds ids = new GroupStore(this.database, new StreamStore(this.database, Map.of("s", 2)))
			.create(group, List.of("s"), start);
		Set<Long> handled = (start instanceof StartPosition.Latest) ? new TreeSet<>(this.published) : new TreeSet<>();
		this.groups.put(group, new Group(ids, handled));
	}

	void steps(int count) {
		List<Group> all = new ArrayList<>(this.groups.values());
		for (int i = 0; i < count; i++) {
			int step = this.random.nextInt(10);
			if (step < 3) {
				begin().publish(1 + this.random.nextInt(3));
			}
			else if (step < 6 && !this.open.isEmpty()) {
				end(this.random.nextInt(5) > 0);
			}
			else {
				step(all.get(this.random.nextInt(all.size())));
			}
		}
	}

	/** One that is open already, if there are many. */
	private Transaction begin() {
		if (this.open.size() < OPEN) {
			this.open.add(new Transaction());
			return this.open.get(this.open.size() - 1);
		}
		return this.open.get(this.random.nextInt(OPEN));
	}

	private void end(boolean commits) {
		this.open.remove(this.random.nextInt(this.open.size())).end(commits);
	}

	void publishNow(int events) {
		Transaction transaction = new Transaction();
		transaction.publish(events);
		transaction.end(true);
	}

	private void step(Group group) {
		Claim claim = group.claim;
		if (claim == null) {
			claim = group.claim();
			if (claim == null) {
				return;
			}
		}
		long position = claim.position();
		List<Long> entered = new ArrayList<>();
		boolean stopsEarly = this.random.nextInt(3) == 0;
		for (StoredEvent event : claim.events()) {
			if (stopsEarly && this.random.nextInt(3) == 0) {
				break;
			}
			stopsEarly |= this.random.nextInt(20) == 0;
			group.record(event, this.random.nextInt(10) == 0);
			entered.add(event.id());
			position = event.id();
		}
		boolean all = entered.size() == claim.events().size();
		int end = this.random.nextInt(4);
		if (end == 0) {
			// is killed here: what it has done is in the ledger, or is known as failed
			group.claim = null;
			new ConsumerStore(this.database).remove(this.consumerId);
			this.groups.values().forEach(Group::forgetClaim);
			this.consumerId = new ConsumerStore(this.database).register("model", Duration.ofMinutes(1));
		}
		else if (end == 1 && all && claim.hasMore()) {
			group.claim = group.cursors.advance(claim, group.holder(), claim.readingTo(),
					passed(claim, entered, claim.readingTo()));
		}
		else {
			long to = all ? claim.readingTo() : position;
			assertThat(group.cursors.release(claim, to, passed(claim, entered, to), null)).isTrue();
			group.claim = null;
		}
	}

	private static List<Long> passed(Claim claim, List<Long> entered, long to) {
		List<Long> all = new ArrayList<>(claim.done());
		all.addAll(entered);
		all.removeIf((id) -> id > to);
		return all;
	}

	/** What each group has still to be given, of what is committed. */
	Map<String, Set<Long>> expected() {
		Map<String, Set<Long>> expected = new HashMap<>();
		this.groups.forEach((name, group) -> {
			Set<Long> left = new TreeSet<>(this.published);
			left.removeAll(group.handled);
			expected.put(name, left);
		});
		return expected;
	}

	/** Reads all that there is, and does it. */
	Map<String, Set<Long>> drain() {
		Map<String, Set<Long>> drained = new HashMap<>();
		this.groups.forEach((name, group) -> {
			Set<Long> given = new TreeSet<>();
			Claim claim;
			while ((claim = group.claim()) != null) {
				claim.events().forEach((event) -> assertThat(given.add(event.id())).isTrue());
				assertThat(group.cursors.release(claim, claim.readingTo(), claim.done(), null)).isTrue();
			}
			group.handled.addAll(given);
			drained.put(name, given);
		});
		return drained;
	}

	/**
	 * A transaction that publishes.
	 */
	private final class Transaction {

		private final Connection connection;

		private final List<Long> ids = new ArrayList<>();

		Transaction() {
			try {
				this.connection = MovingModel.this.testDatabase.connect();
				this.connection.setAutoCommit(false);
				if (MovingModel.this.random.nextBoolean()) {
					try (Statement statement = this.connection.createStatement()) {
						statement.execute("select pg_current_xact_id()");
					}
				}
			}
			catch (SQLException ex) {
				throw new IllegalStateException(ex);
			}
		}

		void publish(int events) {
			JdbcTemplate jdbc = new JdbcTemplate(new SingleConnectionDataSource(this.connection, true));
			for (int i = 0; i < events; i++) {
				this.ids.add(jdbc.queryForObject("select pgbus.publish('s', ?, 't', '1')", Long.class,
						"key-" + MovingModel.this.random.nextInt(20)));
			}
		}

		void end(boolean commits) {
			try (Connection ended = this.connection) {
				if (commits) {
					ended.commit();
					MovingModel.this.published.addAll(this.ids);
				}
				else {
					ended.rollback();
				}
			}
			catch (SQLException ex) {
				throw new IllegalStateException(ex);
			}
		}

	}

	/**
	 * A group with one worker.
	 */
	private final class Group {

		private final GroupStore.GroupIds ids;

		private final Set<Long> handled;

		private CursorStore cursors;

		private Claim claim;

		Group(GroupStore.GroupIds ids, Set<Long> handled) {
			this.ids = ids;
			this.handled = handled;
			forgetClaim();
		}

		void forgetClaim() {
			this.claim = null;
			this.cursors = new CursorStore(MovingModel.this.database,
					new Subscription(this.ids.groupId(), this.ids.streamIds(), null, null, 5, 1 << 20));
		}

		Holder holder() {
			return new Holder(MovingModel.this.consumerId, this.ids.groupId());
		}

		Claim claim() {
			this.claim = null;
			this.cursors.releaseStrays(holder());
			return this.cursors.claim(holder(), List.of());
		}

		void record(StoredEvent event, boolean fails) {
			String sql = fails ? """
					insert into pgbus.failed_event (cursor_id, event_id, key, type, state, holds_key)
					select c.id, :id, null, 't', 'dead', false""" : """
					insert into pgbus.ledger select c.id, :id""";
			MovingModel.this.testDatabase.jdbc()
				.sql(sql + """
						 from pgbus.event e
						join pgbus.cursor c on c.stream_id = e.stream_id and c.partition = e.partition
						where e.id = :id and c.group_id = :group""")
				.param("id", event.id())
				.param("group", this.ids.groupId())
				.update();
			assertThat(this.handled.add(event.id())).isTrue();
		}

	}

}
