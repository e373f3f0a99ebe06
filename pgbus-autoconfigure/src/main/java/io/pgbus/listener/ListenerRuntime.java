package io.pgbus.listener;

import java.util.List;

import io.pgbus.DeadLetterListener;
import io.pgbus.EventErrorHandler;
import io.pgbus.core.EventConverter;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.FailureStore;
import io.pgbus.store.GroupStore;
import io.pgbus.store.Inbox;
import io.pgbus.store.Ledger;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.PlatformTransactionManager;

/**
 * What all containers of an application share.
 *
 * @param database the database
 * @param groups makes groups
 * @param converter reads events
 * @param consumer this application instance
 * @param transactionManager the application's transaction manager of the bus's
 * DataSource, or of the inbox's, or {@code null} if there is none, and so no exactly-once
 * delivery
 * @param inbox the inbox in the database of the handlers' effects, or {@code null} if
 * that is the bus's own
 * @param errorHandler is asked about failures of listeners that name no error handler, or
 * {@code null}
 * @param deadLetterListeners see every death
 * @param virtualThreads whether workers run on virtual threads
 * @param defaults what holds for listeners that do not say otherwise
 * @param instruments what watches the listeners
 * @param tables lets groups listen to tables, or {@code null} if none can
 * @since 0.1.0
 */
public record ListenerRuntime(BusDatabase database, GroupStore groups, EventConverter converter, BusConsumer consumer,
		@Nullable PlatformTransactionManager transactionManager, @Nullable Inbox inbox,
		@Nullable EventErrorHandler errorHandler, List<DeadLetterListener> deadLetterListeners, boolean virtualThreads,
		ListenerDefaults defaults, ListenerInstruments instruments, @Nullable TableSubscriptions tables) {

	/**
	 * Creates a runtime whose listeners nothing watches, and none of which listens to
	 * tables.
	 * @param database the database
	 * @param groups makes groups
	 * @param converter reads events
	 * @param consumer this application instance
	 * @param transactionManager the transaction manager, or {@code null}
	 * @param errorHandler is asked about failures, or {@code null}
	 * @param deadLetterListeners see every death
	 * @param virtualThreads whether workers run on virtual threads
	 * @param defaults what holds for listeners that do not say otherwise
	 */
	public ListenerRuntime(BusDatabase database, GroupStore groups, EventConverter converter, BusConsumer consumer,
			@Nullable PlatformTransactionManager transactionManager, @Nullable EventErrorHandler errorHandler,
			List<DeadLetterListener> deadLetterListeners, boolean virtualThreads, ListenerDefaults defaults) {
		this(database, groups, converter, consumer, transactionManager, null, errorHandler, deadLetterListeners,
				virtualThreads, defaults, ListenerInstruments.NONE, null);
	}

	/**
	 * Returns the runtime of listeners that have their effects in the database of their
	 * events.
	 * @param database that database
	 * @param groups makes its groups
	 * @param consumer this application instance as others see it there
	 * @return a runtime without an inbox, and like this one in all else
	 */
	public ListenerRuntime on(BusDatabase database, GroupStore groups, BusConsumer consumer) {
		return new ListenerRuntime(database, groups, this.converter, consumer, this.transactionManager, null,
				this.errorHandler, this.deadLetterListeners, this.virtualThreads, this.defaults, this.instruments,
				this.tables);
	}

	FailureStore failures() {
		return new FailureStore(this.database);
	}

	Ledger ledger() {
		return new Ledger(this.database);
	}

}
