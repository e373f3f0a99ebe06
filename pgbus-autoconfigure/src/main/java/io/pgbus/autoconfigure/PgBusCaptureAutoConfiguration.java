package io.pgbus.autoconfigure;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import javax.sql.DataSource;

import io.pgbus.BackfillOperations;
import io.pgbus.ListenedTable;
import io.pgbus.PgBusException;
import io.pgbus.core.WakeUps;
import io.pgbus.listener.BusConsumer;
import io.pgbus.listener.ConfiguredTables;
import io.pgbus.listener.DefaultBackfillOperations;
import io.pgbus.listener.DefaultTableSubscriptions;
import io.pgbus.listener.TableSubscriptions;
import io.pgbus.replication.Capture;
import io.pgbus.replication.CaptureMaintenance;
import io.pgbus.replication.CaptureSettings;
import io.pgbus.replication.CaptureWatch;
import io.pgbus.replication.Publications;
import io.pgbus.replication.ReplicationConnectionFactory;
import io.pgbus.replication.Slot;
import io.pgbus.store.BackfillStore;
import io.pgbus.store.BackfillTrimmer;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.CaptureStore;
import io.pgbus.store.ChangeStreamTrimmer;
import io.pgbus.store.GroupStore;
import io.pgbus.store.TableListenerStore;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of table listeners. Nothing is published or captured until there is
 * one that wants changes.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = PgBusListenerAutoConfiguration.class)
@ConditionalOnBean(BusConsumer.class)
public final class PgBusCaptureAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	TableDatabase pgBusTableDatabase(BusDatabase bus, GroupStore groups, BusConsumer consumer,
			ObjectProvider<WakeUps> wakeUps, ObjectProvider<OwnDatabase> owns,
			ObjectProvider<JdbcConnectionDetails> details, @PgBusDataSource ObjectProvider<DataSource> busDataSources,
			PgBusProperties properties) {
		OwnDatabase own = owns.getIfAvailable();
		if (own != null) {
			return new TableDatabase(own.database(), own.groups(), own.consumer(), own::captured,
					details.getIfAvailable());
		}
		if (!properties.getOutbox().getStreams().isEmpty()) {
			throw new PgBusException("pgbus.outbox.streams says which changes of tables go to the bus, but there is no "
					+ "outbox. Where the bus is in the tables' database, listen to the tables instead.");
		}
		return new TableDatabase(bus, groups, consumer, new AllWakeUps(wakeUps),
				(busDataSources.getIfAvailable() == null) ? details.getIfAvailable() : null);
	}

	/**
	 * Applications with databases on one server have an outbox of the same name each, but
	 * must not have the same slot.
	 */
	@Bean
	@ConditionalOnMissingBean
	CaptureSettings pgBusCaptureSettings(TableDatabase tables, ObjectProvider<OwnDatabase> owns,
			PgBusProperties properties) {
		String schema = tables.database().schema();
		OwnDatabase own = owns.getIfAvailable();
		return properties.getCapture()
			.toSettings(schema, (own != null) ? schema + "_" + own.database().name() : schema);
	}

	@Bean
	@ConditionalOnMissingBean
	ConfiguredTables pgBusConfiguredTables(PgBusProperties properties) {
		Map<String, List<ListenedTable>> tables = new LinkedHashMap<>();
		properties.getTableListeners()
			.forEach((group, listener) -> tables.put(group,
					listener.toListenedTables("pgbus.table-listeners." + group)));
		return new ConfiguredTables(tables);
	}

	@Bean
	@ConditionalOnMissingBean
	TableListenerStore pgBusTableListenerStore(TableDatabase tables) {
		return new TableListenerStore(tables.database());
	}

	@Bean
	@ConditionalOnMissingBean
	BackfillStore pgBusBackfillStore(TableDatabase tables, PgBusProperties properties) {
		return new BackfillStore(tables.database(), properties.getBackfill().toSettings());
	}

	@Bean
	@ConditionalOnMissingBean(BackfillOperations.class)
	DefaultBackfillOperations pgBusBackfillOperations(BackfillStore backfills, TableDatabase tables) {
		return new DefaultBackfillOperations(backfills, tables.consumer());
	}

	@Bean
	@ConditionalOnMissingBean
	CaptureStore pgBusCaptureStore(TableDatabase tables, TableListenerStore listeners, PgBusProperties properties) {
		return new CaptureStore(tables.database(), listeners, properties.getCapture().getFilterTimeout());
	}

	@Bean(destroyMethod = "close")
	@ConditionalOnMissingBean
	@ConditionalOnBooleanProperty(name = "pgbus.capture.enabled", matchIfMissing = true)
	@Nullable Capture pgBusCapture(TableDatabase tables, CaptureStore store, CaptureSettings settings,
			PgBusProperties properties) {
		PgBusCaptureProperties configured = properties.getCapture();
		BusLogin login = tables
			.login(new BusLogin.Configured(configured.getUrl(), configured.getUsername(), configured.getPassword()));
		if (login == null) {
			return null;
		}
		return new Capture(tables.database(), store,
				ReplicationConnectionFactory.of(login.url(), login.username(), login.password()), settings,
				tables.consumer().name(), tables.wakeUps()::published, "pgbus-capture");
	}

	@Bean
	@ConditionalOnMissingBean
	Publications pgBusPublications(TableDatabase tables, CaptureSettings settings) {
		return new Publications(tables.database(), settings);
	}

	@Bean(destroyMethod = "close")
	@ConditionalOnMissingBean
	@Nullable CaptureMaintenance pgBusCaptureMaintenance(TableDatabase tables, ObjectProvider<Capture> captures,
			TableListenerStore listeners, Publications publications, PgBusProperties properties) {
		Capture capture = captures.getIfAvailable();
		return (capture != null) ? new CaptureMaintenance(capture, new ChangeStreamTrimmer(tables.database()),
				new BackfillTrimmer(tables.database()), listeners, publications,
				properties.getCapture().getTrimInterval()) : null;
	}

	@Bean
	@ConditionalOnMissingBean
	@Nullable CaptureWatch pgBusCaptureWatch(TableDatabase tables, ObjectProvider<Capture> captures, CaptureSettings settings,
			CaptureStore store, TableListenerStore listeners) {
		Capture capture = captures.getIfAvailable();
		return (capture != null) ? new CaptureWatch(capture, new Slot(tables.database(), settings), store, listeners)
				: null;
	}

	@Bean
	@ConditionalOnMissingBean
	TableSubscriptions pgBusTableSubscriptions(TableDatabase tables, TableListenerStore listeners,
			Publications publications, BackfillStore backfills, ObjectProvider<Capture> captures,
			ObjectProvider<CaptureMaintenance> maintenance) {
		return new DefaultTableSubscriptions(publications, listeners, tables.groups(), backfills,
				captures.getIfAvailable(), maintenance.getIfAvailable());
	}

}
