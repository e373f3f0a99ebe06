package io.pgbus.core;

/**
 * Counts what is published.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface PublisherMetrics {

	/** Counts nothing. */
	PublisherMetrics NONE = (stream, events) -> {
	};

	/**
	 * Events were published and are committed, as far as that can be seen: in a
	 * transaction of the caller that Spring does not synchronize with they only were
	 * written.
	 * @param stream the name of the stream
	 * @param events how many
	 */
	void published(String stream, int events);

}
