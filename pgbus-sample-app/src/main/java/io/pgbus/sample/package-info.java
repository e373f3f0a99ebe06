/**
 * A small shop, whose orders travel over pgbus.
 */
@NullMarked
package io.pgbus.sample;

import org.jspecify.annotations.NullMarked;
