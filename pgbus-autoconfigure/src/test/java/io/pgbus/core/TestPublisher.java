package io.pgbus.core;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

import javax.sql.DataSource;

import io.pgbus.store.BusDatabase;
import io.pgbus.store.EventStore;
import io.pgbus.store.SchemaInitializer;
import io.pgbus.store.StreamStore;
import io.pgbus.testing.TestDatabase;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * A bus on a database of its own that is only published to.
 */
final class TestPublisher implements AutoCloseable {

	final TestDatabase database = TestDatabase.create();

	final DataSource dataSource = this.database.dataSource();

	final JdbcClient jdbc = JdbcClient.create(this.dataSource);

	final List<Integer> wakeUps = new CopyOnWriteArrayList<>();

	final DefaultEventPublisher publisher = publisher(this.dataSource);

	TestPublisher() {
		new SchemaInitializer(new BusDatabase(this.dataSource, "pgbus")).migrate();
	}

	DefaultEventPublisher publisher(DataSource dataSource) {
		BusDatabase bus = new BusDatabase(dataSource, "pgbus");
		EventStore events = new EventStore(bus, new StreamStore(bus, Map.of()));
		return new DefaultEventPublisher(bus, events, new EventConverter(JsonMapper.builder().build()),
				new AnnotationEventTypeResolver(), this.wakeUps::add, DefaultEventPublisher.DEFAULT_MAX_PAYLOAD);
	}

	TransactionTemplate transaction() {
		return transaction(TransactionDefinition.ISOLATION_DEFAULT);
	}

	TransactionTemplate transaction(int isolation) {
		TransactionTemplate transaction = new TransactionTemplate(new JdbcTransactionManager(this.dataSource));
		transaction.setIsolationLevel(isolation);
		return transaction;
	}

	long count(String stream) {
		return this.jdbc
			.sql("select count(*) from pgbus.event join pgbus.stream s on s.id = stream_id where s.name = ?")
			.param(stream)
			.query(Long.class)
			.single();
	}

	@Override
	public void close() {
		this.database.close();
	}

}
