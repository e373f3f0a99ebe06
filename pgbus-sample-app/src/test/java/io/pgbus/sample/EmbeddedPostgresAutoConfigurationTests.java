package io.pgbus.sample;

import javax.sql.DataSource;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link EmbeddedPostgresAutoConfiguration}.
 */
class EmbeddedPostgresAutoConfigurationTests {

	private final ApplicationContextRunner context = new ApplicationContextRunner().withConfiguration(
			AutoConfigurations.of(EmbeddedPostgresAutoConfiguration.class, DataSourceAutoConfiguration.class));

	@Test
	void startsServerThatTheDataSourceUses() {
		this.context.run((context) -> {
			JdbcClient jdbc = JdbcClient.create(context.getBean(DataSource.class));
			assertThat(jdbc.sql("show port").query(Integer.class).single())
				.isEqualTo(context.getBean(EmbeddedPostgres.class).getPort());
			assertThat(jdbc.sql("show server_version_num").query(Integer.class).single()).isBetween(180000, 189999);
			assertThat(jdbc.sql("show wal_level").query(String.class).single()).isEqualTo("logical");
		});
	}

	@Test
	void startsNoServerIfUrlIsConfigured() {
		this.context.withPropertyValues("spring.datasource.url=jdbc:postgresql://localhost/shop")
			.run((context) -> assertThat(context).hasSingleBean(DataSource.class)
				.doesNotHaveBean(EmbeddedPostgres.class));
	}

	@Test
	void startsNoServerIfThereAreConnectionDetails() {
		this.context.withBean(JdbcConnectionDetails.class, () -> mock(JdbcConnectionDetails.class))
			.run((context) -> assertThat(context).doesNotHaveBean(EmbeddedPostgres.class));
	}

	@Test
	void startsNoServerIfThereIsDataSource() {
		this.context.withBean(DataSource.class, () -> mock(DataSource.class))
			.run((context) -> assertThat(context).doesNotHaveBean(EmbeddedPostgres.class));
	}

}
