package io.pgbus.autoconfigure;

import java.util.LinkedHashMap;
import java.util.Map;

import javax.sql.DataSource;

import io.pgbus.EventPublisher;
import io.pgbus.EventTypeResolver;
import io.pgbus.PgBusException;
import io.pgbus.autoconfigure.PgBusProperties.Schema.Initialize;
import io.pgbus.core.AnnotationEventTypeResolver;
import io.pgbus.core.DefaultEventPublisher;
import io.pgbus.core.EventConverter;
import io.pgbus.core.WakeUps;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.EventStore;
import io.pgbus.store.SchemaInitializer;
import io.pgbus.store.StreamStore;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of the bus: its database and schema, and publishing. It needs a
 * DataSource of a PostgreSQL database.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = DataSourceAutoConfiguration.class,
		afterName = "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration")
@ConditionalOnBooleanProperty(name = "pgbus.enabled", matchIfMissing = true)
@ConditionalOnBean(DataSource.class)
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
		Map<String, Integer> partitions = new LinkedHashMap<>();
		properties.getStreams().forEach((name, stream) -> partitions.put(name, stream.getPartitions()));
		StreamStore streams = new StreamStore(database, partitions);
		streams.createDeclared();
		return streams;
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
	@ConditionalOnMissingBean(EventPublisher.class)
	DefaultEventPublisher pgBusEventPublisher(BusDatabase database, StreamStore streams, EventConverter converter,
			EventTypeResolver types, ObjectProvider<WakeUps> wakeUps, PgBusProperties properties) {
		return new DefaultEventPublisher(database, new EventStore(database, streams), converter, types,
				(streamId) -> wakeUps.orderedStream().forEach((each) -> each.published(streamId)),
				properties.getPublisher().getMaxPayload());
	}

}
