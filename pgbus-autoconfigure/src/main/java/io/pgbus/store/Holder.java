package io.pgbus.store;

/**
 * Who holds a cursor: one worker of a consumer, which holds one cursor at a time.
 *
 * @param consumerId the consumer
 * @param worker the worker, unique in its consumer
 * @since 0.1.0
 */
public record Holder(int consumerId, int worker) {

}
