/**
 * Every SQL statement on the bus's tables, the wake-ups, and the schema's scripts.
 */
@NullMarked
package io.pgbus.store;

import org.jspecify.annotations.NullMarked;
