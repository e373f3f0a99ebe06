package io.pgbus.store;

/**
 * An event to append for a change.
 *
 * @param streamId the stream
 * @param partitions how many partitions it has
 * @param type the type
 * @param key the key
 * @param payload the payload as JSON
 * @param headers the headers as JSON: which groups want it
 */
record ChangeEvent(int streamId, int partitions, String type, String key, String payload, String headers) {

}
