/**
 * Changes of tables out of the write-ahead log: publication, slot, pgoutput decoding and
 * the confirmed position.
 */
@NullMarked
package io.pgbus.replication;

import org.jspecify.annotations.NullMarked;
