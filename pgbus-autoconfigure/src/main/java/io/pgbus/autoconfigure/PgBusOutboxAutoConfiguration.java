package io.pgbus.autoconfigure;

import java.util.List;

import javax.sql.DataSource;

import io.pgbus.DeliveryMode;
import io.pgbus.PgBusException;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.autoconfigure.PgBusProperties.Schema.Initialize;
import io.pgbus.core.EventConverter;
import io.pgbus.core.WakeUps;
import io.pgbus.listener.BusConsumer;
import io.pgbus.listener.ListenerDefaults;
import io.pgbus.listener.ListenerInstruments;
import io.pgbus.listener.ListenerRuntime;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.TablePublisher;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.EventStore;
import io.pgbus.store.Inbox;
import io.pgbus.store.RetentionMaintenance;
import io.pgbus.store.SchemaInitializer;
import io.pgbus.store.StreamStore;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.boot.thread.Threading;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.env.Environment;

/**
 * Auto-configuration of the outbox of an application whose bus is in another database.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = PgBusListenerAutoConfiguration.class)
@ConditionalOnBean({ BusDatabase.class, DataSource.class })
@Conditional(PgBusOutboxAutoConfiguration.OnOutbox.class)
public final class PgBusOutboxAutoConfiguration {

	@Bean
	@DependsOnDatabaseInitialization
	@ConditionalOnMissingBean
	OwnDatabase pgBusOwnDatabase(ObjectProvider<DataSource> dataSources, BusDatabase bus, PgBusProperties properties,
			BusConsumer busConsumer, ObjectProvider<JdbcConnectionDetails> details) {
		DataSource dataSource = dataSources.getIfUnique();
		if (dataSource == null) {
			throw new PgBusException(
					"There are several DataSources and none of them is primary, so it is not known where "
							+ "the outbox is to be. Make the application's @Primary, or set pgbus.outbox.enabled=false.");
		}
		BusDatabase own = new BusDatabase(dataSource, properties.getOutbox().getSchema());
		if (own.dataSource() == bus.dataSource()) {
			throw new PgBusException("pgbus.outbox.enabled is true, but the bus lives in the application's own "
					+ "DataSource, so that it needs no outbox. Remove the property, or mark the bus's DataSource "
					+ "with @PgBusDataSource.");
		}
		initialize(own, properties.getSchema().getInitialize());
		if (own.busId().equals(bus.busId())) {
			throw new PgBusException("The outbox and the bus are the same schema \"" + own.schema()
					+ "\" of the same database. Set pgbus.outbox.enabled=false, or let pgbus.outbox.schema name another.");
		}
		return OwnDatabase.of(own, busConsumer.name(), properties, details.getIfAvailable());
	}

	private static void initialize(BusDatabase own, Initialize initialize) {
		SchemaInitializer initializer = new SchemaInitializer(own);
		try {
			if (initialize == Initialize.ALWAYS) {
				initializer.migrate();
			}
			else {
				initializer.check();
			}
		}
		catch (PgBusException ex) {
			throw new PgBusException(
					"The database of the application cannot have an outbox (pgbus.outbox.enabled=false "
							+ "does without). " + ex.getMessage(),
					ex);
		}
	}

	@Bean
	@ConditionalOnMissingBean
	OutboxRelay pgBusOutboxRelay(OwnDatabase own, BusDatabase bus, StreamStore busStreams, EventConverter converter,
			PgBusProperties properties, ObjectProvider<WakeUps> wakeUps, Environment environment) {
		BusDatabase outbox = own.database();
		Inbox inbox = new Inbox(bus, outbox.busId());
		own.consumer().whenBuried(inbox::terminate);
		return new OutboxRelay(
				new ListenerRuntime(outbox, own.groups(), converter, own.consumer(), bus.newTransactionManager(), inbox,
						null, List.of(), Threading.VIRTUAL.isActive(environment), defaults(properties),
						ListenerInstruments.NONE, null),
				own.streams(), new RetentionMaintenance(outbox, properties.getRetention().toSettings()),
				new EventStore(bus, busStreams), new AllWakeUps(wakeUps));
	}

	@Bean
	@ConditionalOnMissingBean
	TablePublisher pgBusTablePublisher(OwnDatabase own, OutboxRelay relay, EventConverter converter) {
		return new TablePublisher(new EventStore(own.database(), own.streams()), converter, relay::published);
	}

	/** Listeners are registered once all that they may need is there. */
	@Bean
	SmartInitializingSingleton pgBusTableStreams(TablePublisher publisher, PgListenerContainerRegistry registry,
			PgBusProperties properties) {
		return () -> properties.getOutbox().getStreams().forEach((stream, listener) -> {
			String property = "pgbus.outbox.streams." + stream;
			try {
				registry.register(publisher.endpoint(stream, listener.toListenedTables(property)));
			}
			catch (IllegalArgumentException ex) {
				throw new PgBusException(property + " cannot be. " + ex.getMessage(), ex);
			}
		});
	}

	private static ListenerDefaults defaults(PgBusProperties properties) {
		return new ListenerDefaults(DeliveryMode.EXACTLY_ONCE, StartPosition.earliest(),
				properties.getOutbox().getConcurrency(), properties.getOutbox().getBatchSize(),
				properties.getListener().getBatchBytes(), 1, properties.getListener().getPollInterval(),
				RetryPolicy.DEFAULT);
	}

	/**
	 * It is asked for, or the bus was given a database of its own.
	 */
	static final class OnOutbox extends AnyNestedCondition {

		OnOutbox() {
			super(ConfigurationPhase.PARSE_CONFIGURATION);
		}

		@ConditionalOnBooleanProperty("pgbus.outbox.enabled")
		static final class Wanted {

		}

		@ConditionalOnProperty("pgbus.datasource.url")
		@ConditionalOnBooleanProperty(name = "pgbus.outbox.enabled", matchIfMissing = true)
		static final class OtherDatabase {

		}

	}

}
