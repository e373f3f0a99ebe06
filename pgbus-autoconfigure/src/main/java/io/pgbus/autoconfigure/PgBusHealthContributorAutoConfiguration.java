package io.pgbus.autoconfigure;

import io.pgbus.actuate.PgBusHealthIndicator;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.replication.CaptureWatch;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.RetentionMaintenance;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of the health of the bus.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { PgBusListenerAutoConfiguration.class, PgBusNotificationAutoConfiguration.class,
		PgBusCaptureAutoConfiguration.class, PgBusOutboxAutoConfiguration.class })
@ConditionalOnClass({ HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class })
@ConditionalOnBean({ BusDatabase.class, PgListenerContainerRegistry.class })
@ConditionalOnEnabledHealthIndicator("pgbus")
public final class PgBusHealthContributorAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean(name = { "pgbusHealthIndicator", "pgbusHealthContributor" })
	PgBusHealthIndicator pgbusHealthIndicator(BusDatabase database, PgListenerContainerRegistry registry,
			ObjectProvider<NotificationListener> notifications, ObjectProvider<CaptureWatch> capture,
			ObjectProvider<RetentionMaintenance> retention, ObjectProvider<OutboxRelay> outbox) {
		return new PgBusHealthIndicator(database, registry, notifications.getIfAvailable(), capture.getIfAvailable(),
				retention.getIfAvailable(), outbox.getIfAvailable());
	}

}
