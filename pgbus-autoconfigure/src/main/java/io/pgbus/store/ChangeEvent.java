package io.pgbus.store;

/**
 * An event to append for a change.
 *
 * @param kind what it has in common with others
 * @param key the key
 * @param payload the payload as JSON
 */
record ChangeEvent(Kind kind, String key, String payload) {

	/**
	 * What most events of a batch have in common.
	 *
	 * @param streamId the stream
	 * @param partitions how many partitions it has
	 * @param type the type
	 * @param headers the headers as JSON: which groups want it
	 */
	record Kind(int streamId, int partitions, String type, String headers) {

	}

}
