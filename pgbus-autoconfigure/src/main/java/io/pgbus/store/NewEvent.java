package io.pgbus.store;

import org.jspecify.annotations.Nullable;

/**
 * An event to append.
 *
 * @param stream the stream's name
 * @param type the type name
 * @param key the key, or {@code null}
 * @param payload the payload as JSON text
 * @param headers the headers as the text of a JSON object, or {@code null} for none
 * @since 0.1.0
 */
public record NewEvent(String stream, String type, @Nullable String key, String payload, @Nullable String headers) {

}
