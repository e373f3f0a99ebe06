package io.pgbus.store;

import java.time.Duration;
import java.util.Map;

/**
 * What streams say about how long they keep their events, and which instance sees to it.
 *
 * @since 0.1.0
 */
public final class RetentionStore {

	private static final String DECLARE = """
			update {bus}.stream set retention = make_interval(secs => :seconds::float8)
			where name = :name and retention is distinct from make_interval(secs => :seconds::float8)
			""";

	/** Whoever may make and drop segments. */
	private static final String IS_OWNER = """
			select pg_has_role(c.relowner, 'USAGE') and has_schema_privilege(c.relnamespace, 'CREATE')
			from pg_class c where c.oid = '{bus}.event'::regclass
			""";

	private static final String TAKE_LEASE = """
			update {bus}.retention_lease
			set holder = :holder, until = clock_timestamp() + make_interval(secs => :seconds)
			where holder = :holder or until < clock_timestamp()
			""";

	private static final String END_LEASE = """
			update {bus}.retention_lease set until = '-infinity' where holder = :holder
			""";

	/** What pulls is a member only while it reads, so its cursors tell as well. */
	private static final String SEE_GROUPS = """
			update {bus}.consumer_group g set seen_at = clock_timestamp()
			where coalesce(g.seen_at, '-infinity') < clock_timestamp() - interval '1 hour'
			and exists (select from {bus}.member m where m.group_id = g.id)
			""";

	/** When something was last seen of a group g. */
	static final String SEEN_AT = """
			greatest(
				g.created_at, g.seen_at,
				(
					select max(s.changed_at) from {bus}.cursor c
			%s
					where c.group_id = g.id
				)
			)""".formatted(CursorStore.STATE.indent(8));

	private final BusDatabase database;

	/**
	 * Creates the store.
	 * @param database the database
	 */
	public RetentionStore(BusDatabase database) {
		this.database = database;
	}

	/**
	 * Stores what an application declares. Streams that it does not declare keep what is
	 * stored.
	 * @param declared the retention by the name of the stream, which must exist
	 */
	public void declare(Map<String, Retention> declared) {
		declared.forEach((name, retention) -> {
			Duration duration = retention.duration();
			this.database.own(DECLARE)
				.param("name", name)
				.param("seconds", (duration != null) ? duration.toMillis() / 1000d : null)
				.update();
		});
	}

	boolean isOwner() {
		return this.database.own(IS_OWNER).query(Boolean.class).single();
	}

	/** Takes the lease, or holds it for longer. */
	boolean takeLease(String holder, Duration duration) {
		return this.database.own(TAKE_LEASE)
			.param("holder", holder)
			.param("seconds", duration.toMillis() / 1000d)
			.update() > 0;
	}

	void endLease(String holder) {
		this.database.own(END_LEASE).param("holder", holder).update();
	}

	void seeGroups() {
		this.database.own(SEE_GROUPS).update();
	}

}
