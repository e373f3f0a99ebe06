package io.pgbus.autoconfigure;

import com.zaxxer.hikari.HikariDataSource;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * Auto-configuration of a DataSource for a bus that lives in another database than the
 * application's data. Whoever asks for a DataSource does not get this one.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = DataSourceAutoConfiguration.class, before = PgBusAutoConfiguration.class)
@ConditionalOnClass(HikariDataSource.class)
@ConditionalOnBooleanProperty(name = "pgbus.enabled", matchIfMissing = true)
@ConditionalOnProperty("pgbus.datasource.url")
@EnableConfigurationProperties(PgBusProperties.class)
public final class PgBusDataSourceAutoConfiguration {

	@Bean(defaultCandidate = false, destroyMethod = "close")
	@PgBusDataSource
	HikariDataSource pgBusDataSource(PgBusProperties properties, Environment environment) {
		PgBusDataSourceProperties configured = properties.getDatasource();
		HikariDataSource dataSource = new HikariDataSource();
		dataSource.setPoolName("pgbus");
		dataSource.setJdbcUrl(configured.getUrl());
		dataSource.setUsername(configured.getUsername());
		dataSource.setPassword(configured.getPassword());
		Binder.get(environment).bind("pgbus.datasource.hikari", Bindable.ofInstance(dataSource));
		return dataSource;
	}

}
