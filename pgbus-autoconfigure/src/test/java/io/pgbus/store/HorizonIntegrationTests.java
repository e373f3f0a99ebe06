package io.pgbus.store;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;

import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What a horizon is made of. It was seen to fail, mostly within some thousand looks, with
 * the floor read by {@code select last_value from pgbus.event_id}.
 */
class HorizonIntegrationTests {

	private static final int LOOKS = 20_000;

	private TestDatabase testDatabase;

	private BusDatabase database;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final AtomicBoolean drawing = new AtomicBoolean(true);

	@BeforeEach
	void createLog() {
		this.testDatabase = TestDatabase.create();
		this.database = new BusDatabase(this.testDatabase.dataSource(16), "pgbus");
		new SchemaInitializer(this.database).migrate();
	}

	@AfterEach
	void close() {
		this.drawing.set(false);
		this.threads.shutdownNow();
		this.testDatabase.close();
	}

	@Test
	void theFloorIsNeverAboveAnIdThatIsDrawnLater() throws Exception {
		List<Future<?>> drawers = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			drawers.add(this.threads.submit(this::draw));
		}
		RoundTrip look = this.database.ownRoundTrip(Horizon.FLOOR,
				"select current_setting('pgbus.floor')::bigint as floor, nextval('{bus}.event_id') as id");
		for (int i = 0; i < LOOKS; i++) {
			look.run(Map.of(), (row) -> {
				row.next();
				assertThat(row.getLong("floor")).isLessThan(row.getLong("id"));
				return row;
			});
		}
		this.drawing.set(false);
		for (Future<?> drawer : drawers) {
			drawer.get();
		}
	}

	private void draw() {
		while (this.drawing.get()) {
			this.testDatabase.jdbc()
				.sql("select count(nextval('pgbus.event_id')) from generate_series(1, 500)")
				.query(Long.class)
				.single();
		}
	}

}
