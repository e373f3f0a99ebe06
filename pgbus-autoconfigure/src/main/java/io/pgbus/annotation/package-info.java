/**
 * The annotations that make methods listeners, and what turns such methods into them.
 */
@NullMarked
package io.pgbus.annotation;

import org.jspecify.annotations.NullMarked;
