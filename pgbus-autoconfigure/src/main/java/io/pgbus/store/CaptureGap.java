package io.pgbus.store;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * Changes that were missed.
 *
 * @param foundAt when that was found
 * @param reason why, for people
 * @param from the LSN, unsigned, up to which all changes are in the log, or {@code null}
 * if it is not known
 * @param to the LSN, unsigned, from which on they are again, or {@code null} if the
 * capture has not gone on
 * @since 0.1.0
 */
public record CaptureGap(Instant foundAt, String reason, @Nullable Long from, @Nullable Long to) {

}
