package io.pgbus.autoconfigure;

import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * The database of the bus where that is not the application's.
 *
 * @since 0.1.0
 */
public class PgBusDataSourceProperties {

	/**
	 * JDBC URL of the database that the bus lives in, if that is not the one of the
	 * application's DataSource.
	 */
	private @Nullable String url;

	/**
	 * User who connects to it.
	 */
	private @Nullable String username;

	/**
	 * Password of that user.
	 */
	private @Nullable String password;

	/**
	 * Settings of its connection pool, called as those of spring.datasource.hikari:
	 * pgbus.datasource.hikari.maximum-pool-size=20.
	 */
	private final Map<String, String> hikari = new LinkedHashMap<>();

	public @Nullable String getUrl() {
		return this.url;
	}

	public void setUrl(@Nullable String url) {
		this.url = url;
	}

	public @Nullable String getUsername() {
		return this.username;
	}

	public void setUsername(@Nullable String username) {
		this.username = username;
	}

	public @Nullable String getPassword() {
		return this.password;
	}

	public void setPassword(@Nullable String password) {
		this.password = password;
	}

	public Map<String, String> getHikari() {
		return this.hikari;
	}

}
