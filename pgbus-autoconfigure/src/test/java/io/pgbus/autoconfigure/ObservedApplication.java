package io.pgbus.autoconfigure;

import java.util.ArrayList;
import java.util.List;

import io.pgbus.EventPublisher;
import io.pgbus.testing.TestDatabase;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.jpa.autoconfigure.DataJpaRepositoriesAutoConfiguration;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * A Spring Boot application with the bus on a database of its own, whose retries come at
 * once.
 */
final class ObservedApplication implements AutoCloseable {

	final TestDatabase database = TestDatabase.create();

	private final ConfigurableApplicationContext context;

	private ObservedApplication(List<Class<?>> beans, List<String> properties) {
		List<Class<?>> sources = new ArrayList<>(beans);
		sources.add(Configuration.class);
		try {
			this.context = new SpringApplicationBuilder(sources.toArray(new Class<?>[0])).web(WebApplicationType.NONE)
				.properties(this.database.springProperties())
				.properties("pgbus.listener.retry.back-off=1ms", "pgbus.listener.retry.attempts=3",
						"pgbus.listener.retry.jitter=0", "pgbus.listener.start=earliest",
						"pgbus.listener.poll-interval=100ms", "management.tracing.sampling.probability=1.0")
				.properties(properties.toArray(new String[0]))
				.run();
		}
		catch (RuntimeException ex) {
			this.database.close();
			throw ex;
		}
	}

	static ObservedApplication start(List<Class<?>> beans, String... properties) {
		return new ObservedApplication(beans, List.of(properties));
	}

	<T> T bean(Class<T> type) {
		return this.context.getBean(type);
	}

	EventPublisher publisher() {
		return bean(EventPublisher.class);
	}

	@Override
	public void close() {
		this.context.close();
		this.database.close();
	}

	@SpringBootConfiguration(proxyBeanMethods = false)
	@EnableAutoConfiguration(
			exclude = { HibernateJpaAutoConfiguration.class, DataJpaRepositoriesAutoConfiguration.class })
	static class Configuration {

	}

}
