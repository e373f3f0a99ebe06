package io.pgbus.store;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.pgbus.StartPosition;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/**
 * What the query of the gauges costs where many groups have much to do.
 */
class GroupStatusPlanIntegrationTests {

	private static final int GROUPS = 20;

	private static final int EVENTS = 200_000;

	private final TestDatabase testDatabase = TestDatabase.create();

	private final BusDatabase database = new BusDatabase(this.testDatabase.dataSource(), "pgbus");

	@AfterEach
	void close() {
		this.testDatabase.close();
	}

	@Test
	void itReadsAFewEventsOfEachPartitionByIndex() {
		new SchemaInitializer(this.database).migrate();
		GroupStore groups = new GroupStore(this.database, new StreamStore(this.database, Map.of("s", 8)));
		for (int i = 0; i < GROUPS; i++) {
			groups.create("g" + i, List.of("s"), StartPosition.earliest());
		}
		this.testDatabase.jdbc().sql("""
				insert into pgbus.event (stream_id, partition, size, type, payload)
				select s.id, n % 8, 2, 't', '{}' from pgbus.stream s, generate_series(1, :events) n
				""").param("events", EVENTS).update();
		this.testDatabase.jdbc().sql("analyze pgbus.event").update();
		assertThat(new BusStatus(this.database).groups(1000)).hasSize(GROUPS)
			.allSatisfy((group) -> assertThat((double) group.estimatedLag()).isCloseTo(EVENTS, within(EVENTS / 10.0)));
		assertThat(plan()).anyMatch((line) -> line.contains("using event_0_pkey on event_0"))
			.noneMatch((line) -> line.matches(".*(Seq|Bitmap Heap) Scan on event(_[0-9]+)?( .*)?"))
			.filteredOn((line) -> line.matches(".* on event_[0-9]+ .*"))
			.noneMatch((line) -> line.matches(".*rows=[0-9]{4,}.*"));
	}

	private List<String> plan() {
		RoundTrip explain = this.database.ownRoundTrip(Horizon.PLANNER,
				"explain (analyze, costs off, timing off) " + BusStatus.GROUPS);
		return explain.run(Map.of("limit", 1000), (row) -> {
			Stream.Builder<String> lines = Stream.builder();
			while (row.next()) {
				lines.add(row.getString(1));
			}
			return lines.build().toList();
		});
	}

}
