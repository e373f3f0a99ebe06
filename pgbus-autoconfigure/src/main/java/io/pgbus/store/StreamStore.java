package io.pgbus.store;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;

import io.pgbus.OutgoingEvent;
import io.pgbus.PgBusException;

import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * Streams: their names, ids and partition counts.
 *
 * @since 0.1.0
 */
public final class StreamStore {

	/** The number of partitions of a stream by default. */
	public static final int DEFAULT_PARTITIONS = 8;

	private static final int MAX_PARTITIONS = 1024;

	private static final String MISSING = """
			select distinct wanted.name from unnest(:names::text[]) as wanted(name)
			where not exists (select from {bus}.stream s where s.name = wanted.name)
			""";

	private static final String CREATE = """
			insert into {bus}.stream (name, partitions) values (:name, :partitions) on conflict do nothing
			""";

	private static final String PARTITIONS = """
			select partitions from {bus}.stream where name = :name
			""";

	private static final String NAMES = "select name from {bus}.stream order by name";

	private final BusDatabase database;

	private final Map<String, Integer> declared;

	/**
	 * Creates the store.
	 * @param database the database
	 * @param declared the partition counts that the application declares by stream
	 */
	public StreamStore(BusDatabase database, Map<String, Integer> declared) {
		this.database = database;
		this.declared = Map.copyOf(declared);
	}

	/**
	 * Makes the declared streams, and checks those that exist, each in a transaction of
	 * its own.
	 * @throws PgBusException if a stream has another partition count than declared
	 */
	public void createDeclared() {
		this.declared.forEach((name, partitions) -> {
			check(name, partitions);
			int stored = Objects.requireNonNull(this.database.ownTransaction().execute((status) -> {
				this.database.own(CREATE).param("name", name).param("partitions", partitions).update();
				return this.database.own(PARTITIONS).param("name", name).query(Integer.class).single();
			}));
			if (stored != partitions) {
				throw new PgBusException(
						("The stream \"%s\" has %d partitions, but pgbus.streams declares %d. The count of "
								+ "a stream cannot change, since it decides which events share a partition. Declare %d, or publish "
								+ "to a stream with another name.")
							.formatted(name, stored, partitions, stored));
			}
		});
	}

	private static void check(String name, int partitions) {
		if (name.isBlank() || name.codePointCount(0, name.length()) > OutgoingEvent.MAX_NAME_LENGTH) {
			throw new PgBusException("pgbus.streams declares a stream with the name \"" + name + "\". A name has 1 to "
					+ OutgoingEvent.MAX_NAME_LENGTH + " characters, not all of them white space.");
		}
		if (partitions < 1 || partitions > MAX_PARTITIONS) {
			throw new PgBusException("pgbus.streams declares " + partitions + " partitions for the stream \"" + name
					+ "\". A stream has 1 to " + MAX_PARTITIONS + ".");
		}
	}

	/**
	 * Returns the names of all streams.
	 * @return the names, in order
	 */
	public List<String> names() {
		return this.database.own(NAMES).query((row, index) -> row.getString("name")).list();
	}

	/**
	 * Makes the streams that do not exist yet, in the caller's transaction if there is
	 * one.
	 * @param names the names
	 */
	public void create(Collection<String> names) {
		create(names, this.database::joining);
	}

	/**
	 * Makes the streams that do not exist yet, apart from the caller's transaction.
	 * @param names the names
	 */
	public void createNow(Collection<String> names) {
		this.database.ownTransaction().executeWithoutResult((status) -> create(names, this.database::own));
	}

	private void create(Collection<String> names, Function<String, JdbcClient.StatementSpec> statement) {
		Set<String> distinct = new LinkedHashSet<>(names);
		List<String> missing = statement.apply(MISSING)
			.param("names", distinct.toArray(new String[0]))
			.query((row, index) -> row.getString("name"))
			.list();
		// in one order everywhere, so that two transactions that make the same do not
		// deadlock
		missing.stream()
			.sorted()
			.forEach((name) -> statement.apply(CREATE)
				.param("name", name)
				.param("partitions", this.declared.getOrDefault(name, DEFAULT_PARTITIONS))
				.update());
	}

}
