package io.pgbus.sample;

import java.util.List;

import io.pgbus.Event;
import io.pgbus.annotation.PgEventListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.core.namedparam.SimplePropertySqlParameterSource;
import org.springframework.jdbc.core.namedparam.SqlParameterSource;
import org.springframework.stereotype.Component;

/**
 * Keeps an entry of every event, of whatever type: as strings, payloads are the JSON that
 * they are stored as. It takes them in batches, and from the first event that there is,
 * also from before there was a group "audit".
 */
@Component
class AuditListener {

	private static final Logger logger = LoggerFactory.getLogger(AuditListener.class);

	private static final String INSERT = """
			insert into audit_entry (event_id, type, key, payload)
			values (:id, :type, :key, :payload::jsonb)
			""";

	private final NamedParameterJdbcTemplate jdbc;

	AuditListener(NamedParameterJdbcTemplate jdbc) {
		this.jdbc = jdbc;
	}

	@PgEventListener(streams = "orders", group = "audit", start = "earliest", batch = "true")
	void on(List<Event<String>> events) {
		events.forEach((event) -> logger.info("audit got event {} with key {}, in a batch of {}: {}", event.id(),
				event.key(), events.size(), event.payload()));
		this.jdbc.batchUpdate(INSERT,
				events.stream().map(SimplePropertySqlParameterSource::new).toArray(SqlParameterSource[]::new));
	}

}
