package io.pgbus.autoconfigure;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import javax.sql.DataSource;

import io.pgbus.BackfillOperations;
import io.pgbus.ListenedTable;
import io.pgbus.PgBusException;
import io.pgbus.TableBackfill;
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
	CaptureSettings pgBusCaptureSettings(PgBusProperties properties) {
		return properties.getCapture().toSettings(properties.getSchema().getName());
	}

	@Bean
	@ConditionalOnMissingBean
	ConfiguredTables pgBusConfiguredTables(PgBusProperties properties) {
		Map<String, List<ListenedTable>> tables = new LinkedHashMap<>();
		properties.getTableListeners()
			.forEach((group, listener) -> tables.put(group,
					listener.getTables().stream().map((table) -> toListenedTable(group, table)).toList()));
		return new ConfiguredTables(tables);
	}

	private static ListenedTable toListenedTable(String group, PgBusProperties.Table table) {
		if (table.getName() == null) {
			throw new PgBusException(
					"pgbus.table-listeners." + group + ".tables has a table without a name. Set its \"name\".");
		}
		String query = table.getBackfill();
		return new ListenedTable(table.getName(), table.getFilter(), table.getOperations(), table.getColumns(),
				(query != null) ? new TableBackfill(query, table.getLiveChanges(), table.getBackfillName()) : null);
	}

	@Bean
	@ConditionalOnMissingBean
	TableListenerStore pgBusTableListenerStore(BusDatabase database) {
		return new TableListenerStore(database);
	}

	@Bean
	@ConditionalOnMissingBean
	BackfillStore pgBusBackfillStore(BusDatabase database, PgBusProperties properties) {
		return new BackfillStore(database, properties.getBackfill().toSettings());
	}

	@Bean
	@ConditionalOnMissingBean(BackfillOperations.class)
	DefaultBackfillOperations pgBusBackfillOperations(BackfillStore backfills, BusConsumer consumer) {
		return new DefaultBackfillOperations(backfills, consumer);
	}

	@Bean
	@ConditionalOnMissingBean
	CaptureStore pgBusCaptureStore(BusDatabase database, TableListenerStore listeners, PgBusProperties properties) {
		return new CaptureStore(database, listeners, properties.getCapture().getFilterTimeout());
	}

	@Bean(destroyMethod = "close")
	@ConditionalOnMissingBean
	@ConditionalOnBooleanProperty(name = "pgbus.capture.enabled", matchIfMissing = true)
	@Nullable Capture pgBusCapture(BusDatabase database, CaptureStore store, CaptureSettings settings, PgBusProperties properties,
			BusConsumer consumer, ObjectProvider<WakeUps> wakeUps, ObjectProvider<JdbcConnectionDetails> details,
			@PgBusDataSource ObjectProvider<DataSource> busDataSources) {
		PgBusCaptureProperties configured = properties.getCapture();
		BusLogin login = BusLogin.find(
				new BusLogin.Configured(configured.getUrl(), configured.getUsername(), configured.getPassword()),
				details, busDataSources, database.dataSource());
		if (login == null) {
			return null;
		}
		return new Capture(database, store,
				ReplicationConnectionFactory.of(login.url(), login.username(), login.password()), settings,
				consumer.name(), new AllWakeUps(wakeUps)::published, "pgbus-capture");
	}

	@Bean
	@ConditionalOnMissingBean
	Publications pgBusPublications(BusDatabase database, CaptureSettings settings) {
		return new Publications(database, settings);
	}

	@Bean(destroyMethod = "close")
	@ConditionalOnMissingBean
	@Nullable CaptureMaintenance pgBusCaptureMaintenance(BusDatabase database, ObjectProvider<Capture> captures,
			TableListenerStore listeners, Publications publications, PgBusProperties properties) {
		Capture capture = captures.getIfAvailable();
		return (capture != null) ? new CaptureMaintenance(capture, new ChangeStreamTrimmer(database),
				new BackfillTrimmer(database), listeners, publications, properties.getCapture().getTrimInterval())
				: null;
	}

	@Bean
	@ConditionalOnMissingBean
	@Nullable CaptureWatch pgBusCaptureWatch(BusDatabase database, ObjectProvider<Capture> captures, CaptureSettings settings,
			CaptureStore store, TableListenerStore listeners) {
		Capture capture = captures.getIfAvailable();
		return (capture != null) ? new CaptureWatch(capture, new Slot(database, settings), store, listeners) : null;
	}

	@Bean
	@ConditionalOnMissingBean
	TableSubscriptions pgBusTableSubscriptions(TableListenerStore listeners, Publications publications,
			GroupStore groups, BackfillStore backfills, ObjectProvider<Capture> captures,
			ObjectProvider<CaptureMaintenance> maintenance) {
		return new DefaultTableSubscriptions(publications, listeners, groups, backfills, captures.getIfAvailable(),
				maintenance.getIfAvailable());
	}

}
