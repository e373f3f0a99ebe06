package io.pgbus.autoconfigure;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfigMXBean;
import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.jdbc.DataSourceUnwrapper;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.util.ClassUtils;

/**
 * Where and as whom to open connections to the bus's database that no pool has.
 *
 * @param url the JDBC URL
 * @param username the user, or {@code null} if the URL says it
 * @param password the password, or {@code null} if the URL says it, or none is needed
 */
record BusLogin(String url, @Nullable String username, @Nullable String password) {

	/**
	 * Finds the login: what properties say, and for the rest what the DataSource uses.
	 * @param configured what properties say
	 * @param details the connection details of the application's DataSource
	 * @param busDataSources the marked DataSource, which has none
	 * @param dataSource the bus's DataSource
	 * @return the login, or {@code null} if the URL is not known
	 */
	static @Nullable BusLogin find(Configured configured, ObjectProvider<JdbcConnectionDetails> details,
			ObjectProvider<DataSource> busDataSources, DataSource dataSource) {
		return find(configured, (busDataSources.getIfAvailable() == null) ? details.getIfAvailable() : null,
				dataSource);
	}

	/**
	 * Finds the login: what properties say, and for the rest what the DataSource uses.
	 * @param configured what properties say
	 * @param usable the connection details of the DataSource, or {@code null}
	 * @param dataSource the DataSource
	 * @return the login, or {@code null} if the URL is not known
	 */
	static @Nullable BusLogin find(Configured configured, @Nullable JdbcConnectionDetails usable,
			DataSource dataSource) {
		Configured pool = (usable != null)
				? new Configured(usable.getJdbcUrl(), usable.getUsername(), usable.getPassword()) : poolOf(dataSource);
		String url = (configured.url() != null) ? configured.url() : pool.url();
		if (url == null) {
			return null;
		}
		return new BusLogin(url, (configured.username() != null) ? configured.username() : pool.username(),
				(configured.password() != null) ? configured.password() : pool.password());
	}

	private static Configured poolOf(DataSource dataSource) {
		return ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", null) ? Hikari.loginOf(dataSource)
				: Configured.NOTHING;
	}

	/**
	 * What is known of a login.
	 *
	 * @param url the JDBC URL, or {@code null}
	 * @param username the user, or {@code null}
	 * @param password the password, or {@code null}
	 */
	record Configured(@Nullable String url, @Nullable String username, @Nullable String password) {

		static final Configured NOTHING = new Configured(null, null, null);

	}

	/**
	 * Needs the pool's classes.
	 */
	private static final class Hikari {

		static Configured loginOf(DataSource dataSource) {
			HikariDataSource pool = DataSourceUnwrapper.unwrap(dataSource, HikariConfigMXBean.class,
					HikariDataSource.class);
			return (pool != null) ? new Configured(pool.getJdbcUrl(), pool.getUsername(), pool.getPassword())
					: Configured.NOTHING;
		}

	}

}
