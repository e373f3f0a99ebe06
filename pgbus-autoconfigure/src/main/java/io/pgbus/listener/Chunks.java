package io.pgbus.listener;

import io.pgbus.store.ChunkFailures;
import io.pgbus.store.ChunkStore;

/**
 * The backfills of a listener of tables.
 *
 * @param store claims chunks
 * @param failures where failures of their rows go
 */
record Chunks(ChunkStore store, ChunkFailures failures) {

}
