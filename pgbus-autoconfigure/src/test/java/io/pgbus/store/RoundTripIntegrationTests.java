package io.pgbus.store;

import java.sql.ResultSet;
import java.util.Map;

import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.jspecify.annotations.Nullable;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * {@link RoundTrip} and how the driver sends it.
 */
class RoundTripIntegrationTests {

	/** The driver prepares a statement on the server when it has run a few times. */
	private static final int UNTIL_PREPARED = 20;

	private final TestDatabase database = TestDatabase.create();

	private final BusDatabase bus = new BusDatabase(this.database.dataSource(1), "pgbus");

	@AfterEach
	void drop() {
		this.database.close();
	}

	@Test
	void whatIsSentAtOnceIsOneTransactionAlsoWithoutABegin() {
		RoundTrip look = this.bus
			.look("select set_config('pgbus.test', 'set', true)",
					"select current_setting('pgbus.test', true) as setting, :missing::text[] as missing, "
							+ "pg_current_xact_id_if_assigned()::text as xid")
			.get();
		Map<String, Object> parameters = Map.of("missing", RoundTrip.NULL);
		for (int i = 0; i < UNTIL_PREPARED; i++) {
			String setting = look.run(parameters, (row) -> {
				row.next();
				assertThat(row.getString("missing")).isNull();
				return row.getString("setting");
			});
			assertThat(setting).as("setting in run %d", i).isEqualTo("set");
		}
		RoundTrip after = this.bus.look("select current_setting('pgbus.test', true)").get();
		assertThat(after.<String>run(Map.of(), RoundTripIntegrationTests::text)).isNullOrEmpty();
	}

	private static @Nullable String text(ResultSet row) throws java.sql.SQLException {
		row.next();
		return row.getString(1);
	}

}
