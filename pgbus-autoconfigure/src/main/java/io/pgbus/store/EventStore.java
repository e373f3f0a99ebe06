package io.pgbus.store;

import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

/**
 * Appends events to the log, in the caller's transaction.
 *
 * @since 0.1.0
 */
public final class EventStore {

	private static final int ROWS_PER_STATEMENT = 1000;

	/**
	 * Each parameter stands once, as every mention of one is sent: a payload is large.
	 * What may be null has a type, or the driver would ask for it each time.
	 */
	private static final String APPEND_ONE = """
			insert into {bus}.event (stream_id, partition, size, type, key, payload, headers)
			select s.id, {bus}.partition_of(e.key, s.partitions),
				octet_length(e.payload), e.type, e.key, e.payload::jsonb, e.headers::jsonb
			from (select :type::text, :key::text, :payload::text, :headers::text) e(type, key, payload, headers)
			join {bus}.stream s on s.name = :stream
			returning id, stream_id
			""";

	/**
	 * The ids come in the order of the input, since the rows are sorted below the insert,
	 * whose defaults are evaluated above it row by row. Events without a key take turns
	 * through the partitions.
	 */
	private static final String APPEND_MANY = """
			insert into {bus}.event (stream_id, partition, size, type, key, payload, headers)
			select s.id,
				case when e.key is null then ((e.ordinal + :turn) % s.partitions)::integer
					else {bus}.partition_of(e.key, s.partitions) end,
				octet_length(e.payload), e.type, e.key, e.payload::jsonb, e.headers::jsonb
			from unnest(:streams::text[], :types::text[], :keys::text[], :payloads::text[], :headers::text[])
				with ordinality as e(stream, type, key, payload, headers, ordinal)
			join {bus}.stream s on s.name = e.stream
			order by e.ordinal
			returning id, stream_id
			""";

	private final BusDatabase database;

	private final StreamStore streams;

	/**
	 * Creates the store.
	 * @param database the database
	 * @param streams makes streams on first use
	 */
	public EventStore(BusDatabase database, StreamStore streams) {
		this.database = database;
		this.streams = streams;
	}

	/**
	 * Appends an event, and makes its stream if there is none.
	 * @param event the event
	 * @return what was appended
	 */
	public Appended append(NewEvent event) {
		Appended appended = tryAppend(event);
		if (appended == null) {
			this.streams.create(List.of(event.stream()));
			appended = tryAppend(event);
		}
		if (appended == null) {
			throw new IllegalStateException(
					"The stream \"" + event.stream() + "\" was made but is not visible to this transaction");
		}
		return appended;
	}

	/**
	 * Appends events, a thousand by a statement, and makes their streams if there are
	 * none.
	 * @param events the events
	 * @return what was appended, in the order of the events
	 */
	public List<Appended> appendAll(List<NewEvent> events) {
		this.streams.create(events.stream().map(NewEvent::stream).toList());
		List<Appended> appended = new ArrayList<>(events.size());
		for (int from = 0; from < events.size(); from += ROWS_PER_STATEMENT) {
			List<NewEvent> rows = events.subList(from, Math.min(events.size(), from + ROWS_PER_STATEMENT));
			appended.addAll(this.database.joining(APPEND_MANY)
				.param("streams", column(rows, NewEvent::stream))
				.param("types", column(rows, NewEvent::type))
				.param("keys", column(rows, NewEvent::key))
				.param("payloads", column(rows, NewEvent::payload))
				.param("headers", column(rows, NewEvent::headers))
				.param("turn", ThreadLocalRandom.current().nextInt(ROWS_PER_STATEMENT))
				.query((row, index) -> new Appended(row.getLong("id"), row.getInt("stream_id")))
				.list());
		}
		return appended;
	}

	private @Nullable Appended tryAppend(NewEvent event) {
		return this.database.joining(APPEND_ONE)
			.param("stream", event.stream())
			.param("type", event.type())
			.param("key", event.key(), Types.VARCHAR)
			.param("payload", event.payload())
			.param("headers", event.headers(), Types.VARCHAR)
			.query((row, index) -> new Appended(row.getLong("id"), row.getInt("stream_id")))
			.optional()
			.orElse(null);
	}

	private static @Nullable String[] column(List<NewEvent> rows, Function<NewEvent, @Nullable String> column) {
		return rows.stream().map(column).toArray(String[]::new);
	}

	/**
	 * An event that was appended.
	 *
	 * @param id the id
	 * @param streamId the stream
	 */
	public record Appended(long id, int streamId) {

	}

}
