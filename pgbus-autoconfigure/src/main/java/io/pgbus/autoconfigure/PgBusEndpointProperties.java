package io.pgbus.autoconfigure;

import java.util.HashSet;
import java.util.Set;

import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Properties of the endpoint.
 *
 * @since 0.1.0
 */
@ConfigurationProperties("pgbus.endpoint")
public class PgBusEndpointProperties {

	/**
	 * When to show the payloads and headers of failed events.
	 */
	private Show showPayloads = Show.NEVER;

	/**
	 * Roles that may see payloads and headers when they are shown to the authorized. When
	 * empty, all authenticated users are authorized.
	 */
	private final Set<String> roles = new HashSet<>();

	public Show getShowPayloads() {
		return this.showPayloads;
	}

	public void setShowPayloads(Show showPayloads) {
		this.showPayloads = showPayloads;
	}

	public Set<String> getRoles() {
		return this.roles;
	}

}
