package io.pgbus.autoconfigure;

import java.util.Set;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfigMXBean;
import com.zaxxer.hikari.HikariDataSource;
import io.pgbus.core.WakeUps;
import io.pgbus.listener.BusConsumer;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.NotificationConnectionFactory;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.NotificationReceiver;
import io.pgbus.store.Notifier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.jdbc.DataSourceUnwrapper;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.util.ClassUtils;

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
		// the connection details are those of the application's DataSource
		JdbcConnectionDetails usable = (busDataSources.getIfAvailable() == null) ? details.getIfAvailable() : null;
		NotificationConnectionFactory connections = connections(properties.getNotifications(), usable,
				database.dataSource());
		if (connections == null) {
			logger.warn("It is not known where to listen for events of other instances, so they are found by polling. "
					+ "Set pgbus.notifications.url, or pgbus.notifications.enabled=false.");
			return null;
		}
		return new NotificationListener(database, connections, new Receiver(consumer), "pgbus-listen");
	}

	private static @Nullable NotificationConnectionFactory connections(PgBusProperties.Notifications properties,
			@Nullable JdbcConnectionDetails details, DataSource dataSource) {
		Login pool = (details != null) ? new Login(details.getJdbcUrl(), details.getUsername(), details.getPassword())
				: loginOf(dataSource);
		String url = (properties.getUrl() != null) ? properties.getUrl() : (pool != null) ? pool.url() : null;
		if (url == null) {
			return null;
		}
		String username = properties.getUsername();
		String password = properties.getPassword();
		return NotificationConnectionFactory.of(url, (username != null || pool == null) ? username : pool.username(),
				(password != null || pool == null) ? password : pool.password());
	}

	private static @Nullable Login loginOf(DataSource dataSource) {
		return ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", null) ? Hikari.loginOf(dataSource) : null;
	}

	private record Login(@Nullable String url, @Nullable String username, @Nullable String password) {

	}

	/**
	 * Needs the pool's classes.
	 */
	private static final class Hikari {

		static @Nullable Login loginOf(DataSource dataSource) {
			HikariDataSource pool = DataSourceUnwrapper.unwrap(dataSource, HikariConfigMXBean.class,
					HikariDataSource.class);
			return (pool != null) ? new Login(pool.getJdbcUrl(), pool.getUsername(), pool.getPassword()) : null;
		}

	}

	/**
	 * Passes on what was heard.
	 */
	private record Receiver(BusConsumer consumer) implements NotificationReceiver {

		@Override
		public void published(Set<Integer> streamIds) {
			streamIds.forEach(this.consumer::publishedElsewhere);
		}

		@Override
		public void publishedToAny() {
			this.consumer.publishedSomewhere();
		}

	}

}
