/**
 * What the tests share: above all the PostgreSQL that they run against.
 */
@NullMarked
package io.pgbus.testing;

import org.jspecify.annotations.NullMarked;
