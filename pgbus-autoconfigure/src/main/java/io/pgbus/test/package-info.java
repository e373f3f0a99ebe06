/**
 * Help for the tests of applications that use the bus.
 */
@NullMarked
package io.pgbus.test;

import org.jspecify.annotations.NullMarked;
