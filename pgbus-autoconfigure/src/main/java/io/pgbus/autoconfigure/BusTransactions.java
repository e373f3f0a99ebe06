package io.pgbus.autoconfigure;

import java.util.List;
import java.util.stream.Stream;

import io.pgbus.DeliveryMode;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.Inbox;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * The transaction manager that exactly-once listeners run with: the one of the
 * application that manages the bus's DataSource, or the application's own where the bus
 * is in another database and the application has an outbox.
 *
 * @param transactionManager the transaction manager, or {@code null} if the application
 * manages transactions, but none on that DataSource
 * @param inbox the inbox in the application's database, or {@code null} if the bus is
 * there too
 */
record BusTransactions(@Nullable PlatformTransactionManager transactionManager, @Nullable Inbox inbox) {

	/**
	 * Chooses a transaction manager: the one that handlers' {@code @Transactional} means
	 * too, if that is one of the bus's DataSource; one of an application with several
	 * DataSources may be no candidate for injection.
	 */
	static BusTransactions of(BusDatabase database, @Nullable OwnDatabase own,
			ObjectProvider<PlatformTransactionManager> provider) {
		List<PlatformTransactionManager> all = provider.orderedStream(ObjectProvider.UNFILTERED).toList();
		if (own != null) {
			PlatformTransactionManager ofOwn = all.isEmpty() ? own.database().newTransactionManager()
					: find(own.database(), provider, all);
			return new BusTransactions(ofOwn, (ofOwn != null) ? new Inbox(own.database(), database.busId()) : null);
		}
		return new BusTransactions(all.isEmpty() ? database.newTransactionManager() : find(database, provider, all),
				null);
	}

	private static @Nullable PlatformTransactionManager find(BusDatabase database,
			ObjectProvider<PlatformTransactionManager> provider, List<PlatformTransactionManager> all) {
		return Stream.concat(Stream.ofNullable(provider.getIfUnique()), all.stream())
			.filter(database::isManagedBy)
			.findFirst()
			.orElse(null);
	}

	DeliveryMode deliveryByDefault() {
		return (this.transactionManager != null) ? DeliveryMode.EXACTLY_ONCE : DeliveryMode.AT_LEAST_ONCE;
	}

}
