package io.pgbus.autoconfigure;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

import javax.sql.DataSource;

import io.micrometer.observation.ObservationRegistry;
import io.pgbus.EventPublisher;
import io.pgbus.EventTypeResolver;
import io.pgbus.PgBusException;
import io.pgbus.autoconfigure.PgBusProperties.Schema.Initialize;
import io.pgbus.core.AnnotationEventTypeResolver;
import io.pgbus.core.DefaultEventPublisher;
import io.pgbus.core.EventConverter;
import io.pgbus.core.EventPublisherObservationConvention;
import io.pgbus.core.PublisherInstruments;
import io.pgbus.core.PublisherMetrics;
import io.pgbus.core.WakeUps;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.EventStore;
import io.pgbus.store.Retention;
import io.pgbus.store.RetentionMaintenance;
import io.pgbus.store.RetentionStore;
import io.pgbus.store.SchemaInitializer;
import io.pgbus.store.StreamStore;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Auto-configuration of the bus: its database and schema, and publishing. It needs a
 * DataSource of a PostgreSQL database.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = DataSourceAutoConfiguration.class,
		afterName = "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration")
@ConditionalOnBooleanProperty(name = "pgbus.enabled", matchIfMissing = true)
@Conditional(PgBusAutoConfiguration.OnDataSource.class)
@EnableConfigurationProperties(PgBusProperties.class)
public final class PgBusAutoConfiguration {

	/**
	 * The bus's database. Whoever has it can rely on the schema. It is made after the
	 * application's own migrations have run.
	 */
	@Bean
	@DependsOnDatabaseInitialization
	@ConditionalOnMissingBean
	BusDatabase pgBusDatabase(PgBusProperties properties, ObjectProvider<DataSource> dataSources,
			@PgBusDataSource ObjectProvider<DataSource> busDataSources) {
		BusDatabase database = new BusDatabase(dataSource(dataSources, busDataSources),
				properties.getSchema().getName());
		SchemaInitializer initializer = new SchemaInitializer(database);
		if (properties.getSchema().getInitialize() == Initialize.ALWAYS) {
			initializer.migrate();
		}
		else {
			initializer.check();
		}
		return database;
	}

	private static DataSource dataSource(ObjectProvider<DataSource> dataSources,
			ObjectProvider<DataSource> busDataSources) {
		DataSource dataSource = busDataSources.getIfAvailable(dataSources::getIfUnique);
		if (dataSource == null) {
			throw new PgBusException("There are several DataSources and none of them is primary. Mark the one of the "
					+ "database that the bus lives in with @PgBusDataSource.");
		}
		return dataSource;
	}

	@Bean
	@ConditionalOnMissingBean
	StreamStore pgBusStreamStore(BusDatabase database, PgBusProperties properties) {
		Map<String, Retention> retention = DeclaredRetention.of(properties.getStreams());
		Map<String, Integer> partitions = new LinkedHashMap<>();
		properties.getStreams().forEach((name, stream) -> partitions.put(name, stream.getPartitions()));
		StreamStore streams = new StreamStore(database, partitions);
		streams.createDeclared();
		new RetentionStore(database).declare(retention);
		return streams;
	}

	@Bean(initMethod = "start", destroyMethod = "close")
	@ConditionalOnMissingBean
	@ConditionalOnBooleanProperty(name = "pgbus.retention.enabled", matchIfMissing = true)
	RetentionMaintenance pgBusRetentionMaintenance(BusDatabase database, PgBusProperties properties) {
		return new RetentionMaintenance(database, properties.getRetention().toSettings());
	}

	@Bean
	@ConditionalOnMissingBean
	EventConverter pgBusEventConverter(ObjectProvider<JsonMapper> mapper) {
		return new EventConverter(mapper.getIfAvailable(() -> JsonMapper.builder().build()));
	}

	@Bean
	@ConditionalOnMissingBean
	EventTypeResolver pgBusEventTypeResolver() {
		return new AnnotationEventTypeResolver();
	}

	@Bean
	@ConditionalOnMissingBean
	PublisherInstruments pgBusPublisherInstruments(ObjectProvider<ObservationRegistry> observations,
			ObjectProvider<EventPublisherObservationConvention> convention, ObjectProvider<PublisherMetrics> metrics) {
		return new PublisherInstruments(observations.getIfUnique(() -> ObservationRegistry.NOOP),
				convention.getIfAvailable(), metrics.getIfAvailable(() -> PublisherMetrics.NONE));
	}

	@Bean
	@ConditionalOnMissingBean(EventPublisher.class)
	DefaultEventPublisher pgBusEventPublisher(BusDatabase database, StreamStore streams, EventConverter converter,
			EventTypeResolver types, ObjectProvider<WakeUps> wakeUps, PgBusProperties properties,
			PublisherInstruments instruments, ObjectProvider<OutboxRelay> outbox) {
		OutboxRelay relay = outbox.getIfAvailable();
		if (relay != null) {
			return new DefaultEventPublisher(relay.database(), new EventStore(relay.database(), relay.streams()),
					converter, types, relay::published, properties.getPublisher().getMaxPayload(), instruments);
		}
		return new DefaultEventPublisher(database, new EventStore(database, streams), converter, types,
				new AllWakeUps(wakeUps), properties.getPublisher().getMaxPayload(), instruments);
	}

	/**
	 * A marked DataSource counts even where it is hidden from those who ask for any.
	 */
	static final class OnDataSource extends AnyNestedCondition {

		OnDataSource() {
			super(ConfigurationPhase.REGISTER_BEAN);
		}

		@ConditionalOnBean(DataSource.class)
		static final class Any {

		}

		@Conditional(OnMarkedDataSource.class)
		static final class Marked {

		}

	}

	/** Boot's own condition looks for what is not hidden. */
	static final class OnMarkedDataSource implements ConfigurationCondition {

		@Override
		public ConfigurationPhase getConfigurationPhase() {
			return ConfigurationPhase.REGISTER_BEAN;
		}

		@Override
		public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
			ConfigurableListableBeanFactory beans = Objects.requireNonNull(context.getBeanFactory());
			return Arrays.stream(beans.getBeanNamesForType(DataSource.class, true, false))
				.anyMatch((name) -> beans.findAnnotationOnBean(name, PgBusDataSource.class, false) != null);
		}

	}

}
