package io.pgbus.autoconfigure;

import java.util.List;

import io.pgbus.DeliveryMode;
import io.pgbus.store.BusDatabase;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.PlatformTransactionManager;

/**
 * The transaction manager that exactly-once listeners run with: the one of the
 * application that manages the bus's DataSource.
 *
 * @param transactionManager the transaction manager, or {@code null} if the application
 * manages transactions, but none on the bus's DataSource
 */
record BusTransactions(@Nullable PlatformTransactionManager transactionManager) {

	static BusTransactions of(BusDatabase database, List<PlatformTransactionManager> candidates) {
		if (candidates.isEmpty()) {
			return new BusTransactions(database.newTransactionManager());
		}
		return new BusTransactions(candidates.stream().filter(database::isManagedBy).findFirst().orElse(null));
	}

	DeliveryMode deliveryByDefault() {
		return (this.transactionManager != null) ? DeliveryMode.EXACTLY_ONCE : DeliveryMode.AT_LEAST_ONCE;
	}

}
