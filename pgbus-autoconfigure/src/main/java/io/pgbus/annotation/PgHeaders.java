package io.pgbus.annotation;

/**
 * Names of the headers under which {@code @Header} and {@code @Headers} parameters of
 * listener methods find the parts of an event, beside the event's own headers. The
 * message header {@code timestamp} is when the event was published, in milliseconds since
 * 1970; own headers of an event that are named {@code id} or {@code timestamp} are only
 * found by {@link io.pgbus.Event#headers()}.
 *
 * @since 0.1.0
 */
public final class PgHeaders {

	/** The event id, a {@link Long}. */
	public static final String ID = "pgbus_id";

	/** The name of the stream, a {@link String}. */
	public static final String STREAM = "pgbus_stream";

	/** The partition of the stream, an {@link Integer} from 0. */
	public static final String PARTITION = "pgbus_partition";

	/** The type name, a {@link String}. */
	public static final String TYPE = "pgbus_type";

	/** The key, a {@link String}; absent if the event has none. */
	public static final String KEY = "pgbus_key";

	/**
	 * When the event was written, by the database's clock, a {@link java.time.Instant}.
	 */
	public static final String PUBLISHED_AT = "pgbus_publishedAt";

	/**
	 * Which attempt of the group to handle the event this is, an {@link Integer} from 1.
	 */
	public static final String ATTEMPT = "pgbus_attempt";

	private PgHeaders() {
	}

}
