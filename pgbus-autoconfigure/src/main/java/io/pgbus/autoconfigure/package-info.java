/**
 * Binds the properties, decides what the application needs of the bus, and wires it.
 */
@NullMarked
package io.pgbus.autoconfigure;

import org.jspecify.annotations.NullMarked;
