package io.pgbus.autoconfigure;

import javax.sql.DataSource;

import io.pgbus.core.WakeUps;
import io.pgbus.listener.BusConsumer;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.NotificationConnectionFactory;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.Notifier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of the wake-ups between instances.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = PgBusListenerAutoConfiguration.class)
@ConditionalOnBean(BusConsumer.class)
@ConditionalOnBooleanProperty(name = "pgbus.notifications.enabled", matchIfMissing = true)
public final class PgBusNotificationAutoConfiguration {

	private static final Logger logger = LoggerFactory.getLogger(PgBusNotificationAutoConfiguration.class);

	@Bean(destroyMethod = "close")
	@ConditionalOnMissingBean
	Notifier pgBusNotifier(BusDatabase database, BusConsumer consumer, PgBusProperties properties) {
		return new Notifier(database, consumer::id, properties.getNotifications().getInterval(), "pgbus-notify");
	}

	@Bean
	WakeUps pgBusNotifierWakeUps(Notifier notifier) {
		return notifier::published;
	}

	@Bean(destroyMethod = "close")
	@ConditionalOnMissingBean
	@Nullable NotificationListener pgBusNotificationListener(BusDatabase database, BusConsumer consumer,
			PgBusProperties properties, ObjectProvider<JdbcConnectionDetails> details,
			@PgBusDataSource ObjectProvider<DataSource> busDataSources) {
		PgBusProperties.Notifications configured = properties.getNotifications();
		BusLogin login = BusLogin.find(
				new BusLogin.Configured(configured.getUrl(), configured.getUsername(), configured.getPassword()),
				details, busDataSources, database.dataSource());
		if (login == null) {
			logger.warn("It is not known where to listen for events of other instances, so they are found by polling. "
					+ "Set pgbus.notifications.url, or pgbus.notifications.enabled=false.");
			return null;
		}
		return new NotificationListener(database,
				NotificationConnectionFactory.of(login.url(), login.username(), login.password()),
				new ConsumerReceiver(consumer), "pgbus-listen");
	}

}
