/**
 * Measures the bus beside the limit and beside others, on one PostgreSQL.
 */
@NullMarked
package io.pgbus.benchmarks;

import org.jspecify.annotations.NullMarked;
