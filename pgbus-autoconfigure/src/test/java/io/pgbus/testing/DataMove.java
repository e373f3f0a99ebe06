package io.pgbus.testing;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/**
 * Moves what is in a database to another one, as others do it who do not know what the
 * data means.
 */
public final class DataMove {

	private static final String TABLES = """
			select format('%I.%I', n.nspname, c.relname) from pg_class c
			join pg_namespace n on n.oid = c.relnamespace
			where c.relkind = 'r' and n.nspname in ('pgbus', 'public') and c.relname <> 'pgbus_schema_history'
			order by 1
			""";

	private static final String SEQUENCES = """
			select format('%I.%I', schemaname, sequencename) from pg_sequences where schemaname in ('pgbus', 'public')
			""";

	private DataMove() {
	}

	/**
	 * Copies all rows, as one snapshot sees them, into the same tables of another
	 * database, which are emptied before.
	 * @param from the database
	 * @param to the other
	 * @param withSequences whether their values are copied, as by a dump, or not, as by
	 * logical replication
	 */
	public static void copyRows(TestDatabase from, TestDatabase to, boolean withSequences) {
		Map<String, byte[]> contents = new LinkedHashMap<>();
		Map<String, Long> values = new LinkedHashMap<>();
		try (Connection connection = from.connect()) {
			connection.setAutoCommit(false);
			connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
			JdbcTemplate jdbc = new JdbcTemplate(new SingleConnectionDataSource(connection, true));
			CopyManager copy = connection.unwrap(PGConnection.class).getCopyAPI();
			for (String table : jdbc.queryForList(TABLES, String.class)) {
				ByteArrayOutputStream rows = new ByteArrayOutputStream();
				copy.copyOut("copy " + table + " to stdout", rows);
				contents.put(table, rows.toByteArray());
			}
			jdbc.queryForList(SEQUENCES, String.class).forEach((sequence) -> {
				List<Long> value = jdbc.queryForList("select last_value from " + sequence + " where is_called",
						Long.class);
				value.forEach((last) -> values.put(sequence, last));
			});
		}
		catch (SQLException | IOException ex) {
			throw new IllegalStateException(ex);
		}
		try (Connection connection = to.connect()) {
			JdbcTemplate jdbc = new JdbcTemplate(new SingleConnectionDataSource(connection, true));
			CopyManager copy = connection.unwrap(PGConnection.class).getCopyAPI();
			jdbc.execute("truncate " + String.join(", ", contents.keySet()) + " cascade");
			// as pg_dump does it, where tables refer to each other
			jdbc.execute("set session_replication_role = replica");
			for (Map.Entry<String, byte[]> table : contents.entrySet()) {
				copy.copyIn("copy " + table.getKey() + " from stdin", new ByteArrayInputStream(table.getValue()));
			}
			if (withSequences) {
				values.forEach((sequence, last) -> jdbc
					.queryForObject("select setval('%s', %d)".formatted(sequence, last), Long.class));
			}
		}
		catch (SQLException | IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Dumps a database and restores the dump in an empty one.
	 * @param server the server that the database is in, which has the programs for it
	 * @param from the database
	 * @param to the other
	 */
	public static void dumpAndRestore(OwnServer server, TestDatabase from, TestDatabase to) {
		dumpAndRestoreWith(server, from, to);
	}

	/**
	 * Makes the tables of a database in an empty one, by a dump without rows.
	 * @param server the server that the database is in, which has the programs for it
	 * @param from the database
	 * @param to the other
	 */
	public static void dumpAndRestoreSchema(OwnServer server, TestDatabase from, TestDatabase to) {
		dumpAndRestoreWith(server, from, to, "--schema-only", "--no-publications", "--no-subscriptions");
	}

	private static void dumpAndRestoreWith(OwnServer server, TestDatabase from, TestDatabase to, String... options) {
		try {
			Path dump = Files.createTempFile("pgbus-", ".sql");
			try {
				List<String> arguments = new ArrayList<>(List.of(options));
				arguments.addAll(List.of("-h", "localhost", "-p", Integer.toString(server.port()), "-U",
						from.username(), "-f", dump.toString(), from.name()));
				server.run("pg_dump", arguments.toArray(String[]::new));
				server.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", dump.toString(), "-d", to.libpqUrl());
			}
			finally {
				Files.delete(dump);
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Lets a server use up transaction ids.
	 * @param database one of its databases
	 * @param count how many
	 */
	public static void useTransactionIds(TestDatabase database, int count) {
		database.jdbc().sql("""
				do $$ begin
					for i in 1..%d loop
						perform pg_current_xact_id();
						commit;
					end loop;
				end $$""".formatted(count)).update();
	}

	/**
	 * Returns the next transaction id of a server.
	 * @param database one of its databases
	 * @return the id
	 */
	public static long nextTransactionId(TestDatabase database) {
		return database.jdbc()
			.sql("select pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
			.query(Long.class)
			.single();
	}

}
