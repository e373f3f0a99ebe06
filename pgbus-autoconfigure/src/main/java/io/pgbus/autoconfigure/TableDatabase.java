package io.pgbus.autoconfigure;

import io.pgbus.core.WakeUps;
import io.pgbus.listener.BusConsumer;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.GroupStore;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;

/**
 * The database whose tables are listened to, with the log that has their changes, the
 * groups that listen to them, and the backfills: the application's own where the bus is
 * in another one, else the bus's.
 *
 * @param database the database
 * @param groups the groups of its log
 * @param consumer this application instance as others see it there
 * @param wakeUps is told of changes that have been appended
 * @param details the connection details of its DataSource, or {@code null} if there are
 * none
 */
record TableDatabase(BusDatabase database, GroupStore groups, BusConsumer consumer, WakeUps wakeUps,
		@Nullable JdbcConnectionDetails details) {

	/** Where to connect beside the pool, or {@code null} if that is not known. */
	@Nullable BusLogin login(BusLogin.Configured configured) {
		return BusLogin.find(configured, this.details, this.database.dataSource());
	}

}
