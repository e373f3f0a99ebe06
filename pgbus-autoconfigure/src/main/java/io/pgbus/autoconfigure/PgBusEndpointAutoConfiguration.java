package io.pgbus.autoconfigure;

import io.pgbus.BackfillOperations;
import io.pgbus.ConsumerGroupOperations;
import io.pgbus.actuate.PgBusEndpoint;
import io.pgbus.actuate.PgBusEndpointWebExtension;
import io.pgbus.actuate.TableSide;
import io.pgbus.listener.BusConsumer;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.replication.CaptureWatch;
import io.pgbus.store.BusDatabase;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of the Actuator endpoint {@code pgbus}.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { PgBusListenerAutoConfiguration.class, PgBusCaptureAutoConfiguration.class,
		PgBusOutboxAutoConfiguration.class })
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnAvailableEndpoint(PgBusEndpoint.class)
@ConditionalOnBean({ BusDatabase.class, PgListenerContainerRegistry.class })
@EnableConfigurationProperties(PgBusEndpointProperties.class)
public final class PgBusEndpointAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	PgBusEndpoint pgBusEndpoint(BusDatabase database, ConsumerGroupOperations groups,
			PgListenerContainerRegistry registry, BusConsumer consumer, PgBusEndpointProperties properties,
			ObjectProvider<CaptureWatch> capture, ObjectProvider<BackfillOperations> backfills,
			ObjectProvider<OutboxRelay> outbox) {
		return new PgBusEndpoint(database, groups, registry, consumer, properties.getShowPayloads(),
				new TableSide(capture.getIfAvailable(), backfills.getIfAvailable()), outbox.getIfAvailable());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnAvailableEndpoint(endpoint = PgBusEndpoint.class, exposure = EndpointExposure.WEB)
	PgBusEndpointWebExtension pgBusEndpointWebExtension(PgBusEndpoint endpoint, PgBusEndpointProperties properties) {
		return new PgBusEndpointWebExtension(endpoint, properties.getShowPayloads(), properties.getRoles());
	}

}
