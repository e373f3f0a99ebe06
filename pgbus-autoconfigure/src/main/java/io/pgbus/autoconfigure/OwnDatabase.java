package io.pgbus.autoconfigure;

import io.pgbus.store.BusDatabase;

/**
 * The application's own database where the bus is in another one: it holds the outbox,
 * and the inbox of listeners.
 *
 * @param database the database
 */
record OwnDatabase(BusDatabase database) {

}
