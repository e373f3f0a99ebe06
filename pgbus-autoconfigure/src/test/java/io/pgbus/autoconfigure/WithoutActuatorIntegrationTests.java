package io.pgbus.autoconfigure;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.pgbus.EventPublisher;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.testing.ReducedClassPath;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.util.ClassUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Applications that lack what the bus only uses where it is there.
 */
class WithoutActuatorIntegrationTests {

	/** What the starter does not bring. */
	private static final String OPTIONAL = "spring-boot-(starter-)?(actuator|health|micrometer|security|data-jpa|hibernate"
			+ "|jpa|validation|webmvc|tomcat|flyway)|micrometer-(core|tracing|jakarta|observation-test)|spring-security"
			+ "|hibernate|jakarta\\.(validation|persistence)|tomcat-embed|spring-(web|orm|data)|brave";

	@ParameterizedTest
	@ValueSource(strings = { OPTIONAL, "spring-boot-(starter-)?actuator", "spring-boot-health",
			"spring-boot-(starter-)?micrometer|micrometer-(core|tracing)", "HikariCP" })
	void theApplicationStartsAndAnEventIsDelivered(String missing) throws Exception {
		try (TestDatabase database = TestDatabase.create();
				ReducedClassPath classPath = ReducedClassPath.without(missing)) {
			assertThat(classPath.call(Application.class, (Object) database.springProperties())).isEqualTo("hello");
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "org.springframework.boot.actuate.endpoint.annotation.Endpoint",
			"org.springframework.boot.health.contributor.HealthIndicator",
			"org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration",
			"io.micrometer.core.instrument.MeterRegistry", "io.micrometer.tracing.Tracer",
			"jakarta.validation.Validator", "org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration" })
	void whatIsLeftOutIsNotThere(String type) throws Exception {
		try (ReducedClassPath all = ReducedClassPath.without("nothing");
				ReducedClassPath reduced = ReducedClassPath.without(OPTIONAL)) {
			assertThat(all.has(type)).isTrue();
			assertThat(reduced.has(type)).isFalse();
		}
	}

	/**
	 * Starts, and publishes and handles one event.
	 */
	public static final class Application implements Callable<Object> {

		private final String[] properties;

		public Application(String[] properties) {
			this.properties = properties;
		}

		@Override
		public Object call() throws Exception {
			try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Configuration.class)
				.web(WebApplicationType.NONE)
				.properties(this.properties)
				.properties(hasPool() ? "" : "spring.datasource.type=" + SimpleDriverDataSource.class.getName())
				.properties("spring.autoconfigure.exclude=" + String.join(",", jpa()))
				.run()) {
				context.getBean(EventPublisher.class).publish("greetings", "k", "hello");
				return context.getBean(Listener.class).heard.get(1, TimeUnit.MINUTES);
			}
		}

		/** Without one, Boot makes a DataSource only if it is told which. */
		private static boolean hasPool() {
			return ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", null);
		}

		/** Nothing to do with the bus, and it takes long to start. */
		private static List<String> jpa() {
			return List.of("org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
					"org.springframework.boot.data.jpa.autoconfigure.DataJpaRepositoriesAutoConfiguration");
		}

	}

	@SpringBootConfiguration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(Listener.class)
	static class Configuration {

	}

	static class Listener {

		final CompletableFuture<String> heard = new CompletableFuture<>();

		@PgEventListener(streams = "greetings", group = "listener", start = "earliest")
		void hear(String greeting) {
			this.heard.complete(greeting);
		}

	}

}
