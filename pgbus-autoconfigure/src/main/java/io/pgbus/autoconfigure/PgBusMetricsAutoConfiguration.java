package io.pgbus.autoconfigure;

import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.micrometer.core.instrument.MeterRegistry;
import io.pgbus.actuate.BackfillGauges;
import io.pgbus.actuate.CaptureMeters;
import io.pgbus.actuate.GroupGauges;
import io.pgbus.actuate.ListenerMeters;
import io.pgbus.actuate.OutboxMeters;
import io.pgbus.actuate.PublisherMeters;
import io.pgbus.actuate.RetentionMeters;
import io.pgbus.core.PublisherMetrics;
import io.pgbus.listener.ListenerMetrics;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.replication.CaptureWatch;
import io.pgbus.store.BackfillStore;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.BusStatus;
import io.pgbus.store.GroupStatus;
import io.pgbus.store.RetentionMaintenance;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of the bus's metrics, for applications with a meter registry.
 *
 * @since 0.1.0
 */
@AutoConfiguration(
		after = { PgBusAutoConfiguration.class, PgBusCaptureAutoConfiguration.class,
				PgBusOutboxAutoConfiguration.class },
		afterName = "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration")
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean({ MeterRegistry.class, BusDatabase.class })
@ConditionalOnBooleanProperty(name = "pgbus.metrics.enabled", matchIfMissing = true)
@EnableConfigurationProperties(PgBusMetricsProperties.class)
public final class PgBusMetricsAutoConfiguration {

	/** More groups would be more meters than a registry should have. */
	private static final int MAX_GROUPS = 1000;

	private static final int MAX_BACKFILLS = 100;

	@Bean
	@ConditionalOnMissingBean(PublisherMetrics.class)
	PublisherMeters pgBusPublisherMeters(MeterRegistry registry) {
		return new PublisherMeters(registry);
	}

	@Bean
	@ConditionalOnMissingBean(ListenerMetrics.class)
	ListenerMeters pgBusListenerMeters(MeterRegistry registry) {
		return new ListenerMeters(registry);
	}

	@Bean
	@ConditionalOnMissingBean
	GroupGauges pgBusGroupGauges(BusDatabase database, ObjectProvider<OutboxRelay> outbox,
			PgBusMetricsProperties properties) {
		BusStatus status = new BusStatus(database);
		OutboxRelay relay = outbox.getIfAvailable();
		Supplier<List<GroupStatus>> groups = (relay != null)
				? () -> Stream.concat(relay.tableGroups(MAX_GROUPS).stream(), status.groups(MAX_GROUPS).stream())
					.toList()
				: () -> status.groups(MAX_GROUPS);
		return new GroupGauges(groups, properties.getGaugeInterval());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(OutboxRelay.class)
	OutboxMeters pgBusOutboxMeters(OutboxRelay relay, PgBusMetricsProperties properties) {
		return new OutboxMeters(relay, properties.getGaugeInterval());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(BackfillStore.class)
	BackfillGauges pgBusBackfillGauges(BackfillStore backfills, PgBusMetricsProperties properties) {
		return new BackfillGauges(() -> backfills.unfinished(MAX_BACKFILLS), properties.getGaugeInterval());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(CaptureWatch.class)
	@Nullable CaptureMeters pgBusCaptureMeters(ObjectProvider<CaptureWatch> capture) {
		CaptureWatch watch = capture.getIfAvailable();
		return (watch != null) ? new CaptureMeters(watch) : null;
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(RetentionMaintenance.class)
	RetentionMeters pgBusRetentionMeters(RetentionMaintenance retention) {
		return new RetentionMeters(retention);
	}

}
