package io.pgbus.autoconfigure;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.util.Map;

import javax.sql.DataSource;

import io.pgbus.EventPublisher;
import io.pgbus.PgBusException;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.Notifier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.jdbc.datasource.AbstractDataSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Where the bus is not set up, and where it cannot be: no database is needed to see it.
 */
class PgBusBackOffTests {

	@Test
	void withoutADataSourceThereIsNoBus() {
		BusApplication.runner()
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(EventPublisher.class)
				.doesNotHaveBean(BusDatabase.class)
				.doesNotHaveBean(PgListenerContainerRegistry.class)
				.doesNotHaveBean(Notifier.class)
				.doesNotHaveBean(NotificationListener.class));
	}

	@Test
	void whenDisabledThereIsNoBusAndTheDatabaseIsNotAsked() {
		BusApplication.runner()
			.withBean("dataSource", DataSource.class, () -> stub("H2", Map.of()))
			.withBean(Listener.class)
			.withPropertyValues("pgbus.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(EventPublisher.class)
				.doesNotHaveBean(BusDatabase.class)
				.doesNotHaveBean(PgBusProperties.class)
				.doesNotHaveBean(PgListenerContainerRegistry.class));
	}

	@Test
	void databaseThatIsNotPostgreSqlIsRefusedByName() {
		BusApplication.runner()
			.withBean("dataSource", DataSource.class, () -> stub("H2", Map.of()))
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("H2")
				.hasMessageContaining("PostgreSQL")
				.hasMessageContaining("pgbus.enabled=false"));
	}

	@Test
	void serverThatIsTooOldIsRefusedWithItsVersion() {
		BusApplication.runner()
			.withBean("dataSource", DataSource.class,
					() -> stub("PostgreSQL",
							Map.of("getDatabaseMajorVersion", 13, "getDatabaseProductVersion", "13.22")))
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("13.22")
				.hasMessageContaining("14"));
	}

	@Test
	void severalDataSourcesOfWhichNoneIsPrimaryOrMarkedAreRefused() {
		BusApplication.runner()
			.withBean("one", DataSource.class, () -> stub("PostgreSQL", Map.of()))
			.withBean("two", DataSource.class, () -> stub("PostgreSQL", Map.of()))
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("several DataSources")
				.hasMessageContaining("@PgBusDataSource"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "sixty-four bytes, as PostgreSQL counts them, are one too many: ö" })
	void schemaNameThatPostgreSqlDoesNotTakeIsRefused(String name) {
		BusApplication.runner()
			.withBean("dataSource", DataSource.class, () -> stub("PostgreSQL", Map.of()))
			.withPropertyValues("pgbus.schema.name=" + name)
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("pgbus.schema.name"));
	}

	/**
	 * What the driver says of a server that the tests do not have: nothing but metadata.
	 */
	private static DataSource stub(String product, Map<String, Object> answers) {
		DatabaseMetaData metadata = proxy(DatabaseMetaData.class, "getDatabaseProductName", product, answers);
		Connection connection = proxy(Connection.class, "getMetaData", metadata, Map.of("getAutoCommit", true));
		return new AbstractDataSource() {

			@Override
			public Connection getConnection() {
				return connection;
			}

			@Override
			public Connection getConnection(String username, String password) {
				return connection;
			}

		};
	}

	private static <T> T proxy(Class<T> type, String method, Object answer, Map<String, Object> answers) {
		return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type }, (proxy, called,
				arguments) -> called.getName().equals(method) ? answer : answers.get(called.getName())));
	}

	static class Listener {

		@PgEventListener(streams = "orders", group = "billing")
		void handle(String event) {
		}

	}

}
