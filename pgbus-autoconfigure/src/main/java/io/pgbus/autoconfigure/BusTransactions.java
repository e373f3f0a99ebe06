package io.pgbus.autoconfigure;

import java.util.List;
import java.util.stream.Stream;

import io.pgbus.DeliveryMode;
import io.pgbus.store.BusDatabase;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * The transaction manager that exactly-once listeners run with: the one of the
 * application that manages the bus's DataSource.
 *
 * @param transactionManager the transaction manager, or {@code null} if the application
 * manages transactions, but none on the bus's DataSource
 */
record BusTransactions(@Nullable PlatformTransactionManager transactionManager) {

	/**
	 * Chooses a transaction manager: the one that handlers' {@code @Transactional} means
	 * too, if that is one of the bus's DataSource; one of an application with several
	 * DataSources may be no candidate for injection.
	 */
	static BusTransactions of(BusDatabase database, ObjectProvider<PlatformTransactionManager> provider) {
		List<PlatformTransactionManager> all = provider.orderedStream(ObjectProvider.UNFILTERED).toList();
		if (all.isEmpty()) {
			return new BusTransactions(database.newTransactionManager());
		}
		return new BusTransactions(Stream.concat(Stream.ofNullable(provider.getIfUnique()), all.stream())
			.filter(database::isManagedBy)
			.findFirst()
			.orElse(null));
	}

	DeliveryMode deliveryByDefault() {
		return (this.transactionManager != null) ? DeliveryMode.EXACTLY_ONCE : DeliveryMode.AT_LEAST_ONCE;
	}

}
