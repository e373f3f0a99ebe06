package io.pgbus.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import io.pgbus.StartPosition;
import io.pgbus.store.RetentionRound.Done;
import io.pgbus.testing.TestDatabase;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * A bus on a fresh database, whose segments have ten ids and whose rounds a test runs by
 * itself.
 */
final class RetentionBed implements AutoCloseable {

	static final RetentionSettings SETTINGS = new RetentionSettings(Duration.ofMinutes(1), 10, Duration.ofDays(1),
			false, Duration.ofDays(30), false);

	static final Retention BRIEFLY = new Retention(Duration.ofMillis(1));

	final TestDatabase testDatabase = TestDatabase.create();

	final BusDatabase database = new BusDatabase(this.testDatabase.dataSource(16), "pgbus");

	final JdbcClient jdbc = this.testDatabase.jdbc();

	final StreamStore streams = new StreamStore(this.database, Map.of());

	final GroupStore groups = new GroupStore(this.database, this.streams);

	final FailureStore failures = new FailureStore(this.database);

	final Holder holder;

	private RetentionRound round = newRound(SETTINGS);

	RetentionBed() {
		new SchemaInitializer(this.database).migrate();
		this.holder = new Holder(new ConsumerStore(this.database).register("me", Duration.ofMinutes(10)), 0);
	}

	RetentionRound newRound(RetentionSettings settings) {
		return new RetentionRound(this.database, settings, () -> true);
	}

	void use(RetentionSettings settings) {
		this.round = newRound(settings);
	}

	/** Makes a stream with one partition. */
	void stream(String name, Retention retention) {
		this.jdbc.sql("insert into pgbus.stream (name, partitions) values (?, 1)").param(name).update();
		new RetentionStore(this.database).declare(Map.of(name, retention));
	}

	void publish(String stream, int events) {
		this.jdbc.sql("select pgbus.publish(?, 'k', 't', to_jsonb(n)) from generate_series(1, ?) n")
			.param(stream)
			.param(events)
			.query(Long.class)
			.list();
	}

	/** As many rounds as it takes to make, roll, complete and drop. */
	Done rounds() {
		Done all = new Done(false, 0, 0, 0);
		for (int i = 0; i < 4; i++) {
			Done done = this.round.run();
			all = new Done(all.rolled() || done.rolled(), all.dropped() + done.dropped(),
					all.deleted() + done.deleted(), all.unread() + done.unread());
		}
		return all;
	}

	long count(String stream) {
		return this.jdbc
			.sql("select count(*) from pgbus.event e join pgbus.stream s on s.id = e.stream_id where s.name = ?")
			.param(stream)
			.query(Long.class)
			.single();
	}

	/** The numbers of the segments that the catalog knows. */
	List<Long> segments() {
		return this.jdbc.sql("""
				select substring(c.relname from 7)::bigint from pg_class c
				where c.relnamespace = 'pgbus'::regnamespace and c.relkind = 'r' and c.relname ~ '^event_[0-9]+$'
				order by 1""").query(Long.class).list();
	}

	Reader reader(String group, String... streams) {
		return new Reader(this.groups.create(group, List.of(streams), StartPosition.earliest()));
	}

	@Override
	public void close() {
		this.testDatabase.close();
	}

	/** A group's reader. */
	final class Reader {

		private final CursorStore cursors;

		Reader(GroupStore.GroupIds ids) {
			this(ids, 3);
		}

		Reader(GroupStore.GroupIds ids, int batchSize) {
			this(ids, batchSize, null);
		}

		Reader(GroupStore.GroupIds ids, int batchSize, @Nullable String filter) {
			this.cursors = new CursorStore(RetentionBed.this.database,
					new Subscription(ids.groupId(), ids.streamIds(), null, filter, batchSize, 1 << 20));
		}

		Claim claim() {
			Claim claim = this.cursors.claim(RetentionBed.this.holder, List.of());
			if (claim == null) {
				throw new IllegalStateException("There is nothing to read");
			}
			return claim;
		}

		void release(Claim claim, long position) {
			if (!this.cursors.release(claim, position, List.of(), null)) {
				throw new IllegalStateException("The claim is lost");
			}
		}

		List<StoredEvent> readAll() {
			List<StoredEvent> events = new ArrayList<>();
			Claim claim;
			while ((claim = this.cursors.claim(RetentionBed.this.holder, List.of())) != null) {
				events.addAll(claim.events());
				release(claim, claim.readingTo());
			}
			return events;
		}

	}

}
