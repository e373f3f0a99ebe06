package io.pgbus.store;

import java.util.List;
import java.util.Map;

import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Publishing from SQL, in any schema and with any search path.
 */
class SqlPublishIntegrationTests {

	private final TestDatabase testDatabase = TestDatabase.create();

	private final JdbcClient jdbc = this.testDatabase.jdbc();

	private final BusDatabase database = new BusDatabase(this.testDatabase.dataSource(), "My \"bus\"");

	@BeforeEach
	void createSchema() {
		new SchemaInitializer(this.database).migrate();
	}

	@AfterEach
	void close() {
		this.testDatabase.close();
	}

	@Test
	void anEventPublishedFromSqlSharesThePartitionOfItsKeyWithOnesFromJava() {
		StreamStore streams = new StreamStore(this.database, Map.of());
		EventStore events = new EventStore(this.database, streams);
		for (String key : List.of("a", "b", "ü\uD83D\uDE00")) {
			long id = events.append(new NewEvent("orders", "t", key, "{}", null)).id();
			long sqlId = publish("orders", key, "t", "{\"n\": 1}");
			assertThat(sqlId).isGreaterThan(id);
			assertThat(this.jdbc.sql("select distinct partition from \"My \"\"bus\"\"\".event where key = ?")
				.param(key)
				.query(Integer.class)
				.list()).hasSize(1);
		}
	}

	@Test
	void aTriggerPublishes() {
		this.jdbc.sql("""
				create table orders (id bigint primary key, status text);
				create function order_changed() returns trigger language plpgsql as $$
				begin
					perform "My \"\"bus\"\"\".publish('orders', new.id::text, 'order.' || new.status, to_jsonb(new));
					return null;
				end $$;
				create trigger order_changed after insert or update on orders
					for each row execute function order_changed();
				insert into orders values (1, 'placed');
				update orders set status = 'paid';
				""").update();
		assertThat(this.jdbc.sql("select type from \"My \"\"bus\"\"\".event order by id").query(String.class).list())
			.containsExactly("order.placed", "order.paid");
	}

	@Test
	void whatJavaWouldRefuseIsRefused() {
		assertThatExceptionOfType(DataIntegrityViolationException.class)
			.isThrownBy(() -> publish("orders", "", "t", "{}"));
		assertThatExceptionOfType(DataIntegrityViolationException.class).isThrownBy(() -> publish("", "k", "t", "{}"));
		assertThatExceptionOfType(DataIntegrityViolationException.class)
			.isThrownBy(() -> publish("orders", "k", "t".repeat(201), "{}"));
		assertThatExceptionOfType(DataIntegrityViolationException.class)
			.isThrownBy(() -> publish("orders", "k", "t", null));
	}

	private long publish(String stream, String key, String type, String payload) {
		return this.jdbc.sql("select \"My \"\"bus\"\"\".publish(?, ?, ?, ?::jsonb)")
			.params(stream, key, type, payload)
			.query(Long.class)
			.single();
	}

}
