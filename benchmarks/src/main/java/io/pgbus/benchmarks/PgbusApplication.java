package io.pgbus.benchmarks;

import java.util.HashMap;
import java.util.Map;

import io.pgbus.autoconfigure.PgBusAutoConfiguration;
import io.pgbus.autoconfigure.PgBusCaptureAutoConfiguration;
import io.pgbus.autoconfigure.PgBusListenerAutoConfiguration;
import io.pgbus.autoconfigure.PgBusNotificationAutoConfiguration;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/**
 * An application of the bus: what the starter brings, without what the peers on the class
 * path would bring.
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration({ DataSourceAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class,
		JdbcTemplateAutoConfiguration.class, TransactionAutoConfiguration.class, JacksonAutoConfiguration.class,
		PgBusAutoConfiguration.class, PgBusListenerAutoConfiguration.class, PgBusNotificationAutoConfiguration.class,
		PgBusCaptureAutoConfiguration.class })
class PgbusApplication {

	static ConfigurableApplicationContext start(Environment environment, Map<String, Object> properties) {
		return start(environment, properties, PgbusApplication.class);
	}

	static ConfigurableApplicationContext start(Environment environment, Map<String, Object> properties,
			Class<?>... sources) {
		Map<String, Object> all = new HashMap<>();
		all.put("pgbus.streams." + Order.STREAM + ".partitions", 8);
		all.putAll(properties);
		all.put("spring.datasource.url", environment.jdbcUrl());
		all.put("spring.datasource.hikari.maximum-pool-size", Environment.POOL_SIZE);
		all.put("spring.main.banner-mode", "off");
		all.put("spring.jmx.enabled", "false");
		return new SpringApplicationBuilder(sources).web(WebApplicationType.NONE).properties(all).run();
	}

}
