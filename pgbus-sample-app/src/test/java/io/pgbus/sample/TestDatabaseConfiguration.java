package io.pgbus.sample;

import org.testcontainers.DockerClientFactory;
import org.testcontainers.postgresql.PostgreSQLContainer;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * The database of the tests, chosen by the same system properties as for pgbus's own:
 * {@code pgbus.test.jdbc-url} for a running server, or else {@code pgbus.test.database},
 * which is {@code testcontainers}, {@code embedded} (no bean here: the shop starts its
 * own) or {@code auto}.
 */
@TestConfiguration(proxyBeanMethods = false)
class TestDatabaseConfiguration {

	@Bean
	@ConditionalOnProperty("pgbus.test.jdbc-url")
	TemporaryDatabase testDatabase(Environment environment) {
		return new TemporaryDatabase(environment.getRequiredProperty("pgbus.test.jdbc-url"),
				environment.getProperty("pgbus.test.username", "postgres"),
				environment.getProperty("pgbus.test.password", ""));
	}

	@Bean
	@ServiceConnection
	@Conditional(OnContainer.class)
	PostgreSQLContainer testContainer(Environment environment) {
		return new PostgreSQLContainer("postgres:" + environment.getProperty("pgbus.test.postgres-version", "18"))
			.withCommand("postgres", "-c", "wal_level=logical");
	}

	/**
	 * Matches if the tests are told to use a container, or are left the choice and Docker
	 * answers.
	 */
	static class OnContainer implements Condition {

		@Override
		public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
			Environment environment = context.getEnvironment();
			if (!environment.getProperty("pgbus.test.jdbc-url", "").isBlank()) {
				return false;
			}
			String choice = environment.getProperty("pgbus.test.database", "auto");
			return switch (choice) {
				case "auto" -> DockerClientFactory.instance().isDockerAvailable();
				case "embedded" -> false;
				case "testcontainers" -> true;
				default -> throw new IllegalArgumentException(
						"pgbus.test.database must be auto, embedded or testcontainers, and is '" + choice + "'");
			};
		}

	}

}
