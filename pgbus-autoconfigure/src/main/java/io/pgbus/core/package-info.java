/**
 * Objects to events and back: publishing, conversion, type names.
 */
@NullMarked
package io.pgbus.core;

import org.jspecify.annotations.NullMarked;
