/**
 * Containers that run listeners: registry, worker loop, failures.
 */
@NullMarked
package io.pgbus.listener;

import org.jspecify.annotations.NullMarked;
