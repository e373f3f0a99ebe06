/**
 * What operators see of the bus: endpoint, health, meters and traces.
 */
@NullMarked
package io.pgbus.actuate;

import org.jspecify.annotations.NullMarked;
