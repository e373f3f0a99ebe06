package io.pgbus.test;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.IdleStore;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * The beans that {@link AutoConfigurePgBusTester} imports.
 */
@Configuration(proxyBeanMethods = false)
class PgBusTesterConfiguration {

	@Bean
	PgBusTester pgBusTester(BusDatabase database, PgListenerContainerRegistry registry, ConsumerGroupOperations groups,
			ObjectProvider<OutboxRelay> outbox) {
		OutboxRelay relay = outbox.getIfAvailable();
		return new PgBusTester(new IdleStore(database), (relay != null) ? new IdleStore(relay.database()) : null,
				registry, groups);
	}

}
