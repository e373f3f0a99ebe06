package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;

import org.jspecify.annotations.Nullable;

/**
 * An event as it is stored.
 *
 * @param id the id
 * @param type the type name
 * @param key the key, or {@code null}
 * @param payload the payload as JSON text
 * @param headers the headers as the text of a JSON object, or {@code null} for none
 * @param publishedAt when it was written
 * @param held whether an earlier event with the same key has failed and is to go first
 * @param partition the partition, or {@code null} for that of the claim
 * @since 0.1.0
 */
public record StoredEvent(long id, String type, @Nullable String key, String payload, @Nullable String headers,
		Instant publishedAt, boolean held, @Nullable Integer partition) {

	/**
	 * Creates an event of the claim's partition.
	 * @param id the id
	 * @param type the type name
	 * @param key the key, or {@code null}
	 * @param payload the payload as JSON text
	 * @param headers the headers as the text of a JSON object, or {@code null} for none
	 * @param publishedAt when it was written
	 * @param held whether an earlier event with the same key has failed
	 */
	public StoredEvent(long id, String type, @Nullable String key, String payload, @Nullable String headers,
			Instant publishedAt, boolean held) {
		this(id, type, key, payload, headers, publishedAt, held, null);
	}

	StoredEvent withId(long id) {
		return new StoredEvent(id, this.type, this.key, this.payload, this.headers, this.publishedAt, this.held,
				this.partition);
	}

	static StoredEvent read(ResultSet row) throws SQLException {
		return new StoredEvent(row.getLong("id"), row.getString("type"), row.getString("key"), row.getString("payload"),
				row.getString("headers"), row.getObject("published_at", OffsetDateTime.class).toInstant(),
				row.getBoolean("held"));
	}

}
