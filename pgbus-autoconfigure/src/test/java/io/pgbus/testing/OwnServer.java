package io.pgbus.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.zonky.test.db.postgres.util.LinuxUtils;

import org.springframework.util.FileSystemUtils;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * A PostgreSQL server of a test's own, which may be stopped and started again: its data
 * and its port stay the same. Made by {@link TestDatabase#startOwnServer(Map)}.
 */
public final class OwnServer implements AutoCloseable {

	private final Path binaries;

	private final Path directory;

	private final int port;

	private final Thread shutdownHook = new Thread(this::stopAndDelete, "stop-own-server");

	private final List<TestDatabase> databases = new CopyOnWriteArrayList<>();

	private boolean running;

	private OwnServer(Path binaries, Path directory, int port) {
		this.binaries = binaries;
		this.directory = directory;
		this.port = port;
	}

	/** From the programs that the shared server was started with. */
	static OwnServer start(Map<String, String> settings) {
		DatabaseServer shared = DatabaseServer.shared();
		assumeTrue(shared.kind() == DatabaseServer.Kind.EMBEDDED,
				"Needs a server of its own, which only -Dpgbus.test.database=embedded gives");
		// The shared server knows where its programs were unpacked.
		String binaries = shared.admin()
			.sql("select setting from pg_config where name = 'BINDIR'")
			.query(String.class)
			.single();
		return start(Path.of(binaries), settings);
	}

	/** From programs that are installed on this machine, to which pg_dump belongs. */
	static OwnServer startInstalled(Map<String, String> settings) {
		Path installed = Path.of("/usr/lib/postgresql");
		try (Stream<Path> versions = Files.isDirectory(installed) ? Files.list(installed) : Stream.empty()) {
			Path binaries = versions.map((version) -> version.resolve("bin"))
				.filter((bin) -> Stream.of("initdb", "postgres", "pg_dump", "pg_upgrade", "psql")
					.allMatch((program) -> Files.isExecutable(bin.resolve(program))))
				.max(Comparator.naturalOrder())
				.orElse(null);
			assumeTrue(binaries != null, "Needs a PostgreSQL server with pg_dump below " + installed);
			return start(binaries, settings);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static OwnServer start(Path binaries, Map<String, String> settings) {
		try {
			OwnServer server = new OwnServer(binaries, Files.createTempDirectory("pgbus-own-server-"), freePort());
			Runtime.getRuntime().addShutdownHook(server.shutdownHook);
			server.initialize(settings);
			server.start();
			return server;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
	}

	private void initialize(Map<String, String> settings) throws IOException {
		run("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N", "-D", data().toString());
		Map<String, String> all = new LinkedHashMap<>(DatabaseServer.SETTINGS);
		all.put("port", Integer.toString(this.port));
		all.put("listen_addresses", "localhost");
		all.put("unix_socket_directories", "");
		all.putAll(settings);
		configure(all);
	}

	private void configure(Map<String, String> settings) throws IOException {
		List<String> lines = settings.entrySet()
			.stream()
			.map((setting) -> setting.getKey() + " = '" + setting.getValue().replace("'", "''") + "'")
			.toList();
		Files.write(data().resolve("postgresql.conf"), lines, StandardOpenOption.APPEND);
	}

	public int port() {
		return this.port;
	}

	/**
	 * Creates a database in this server.
	 * @return the database, which need not be closed: it ends with the server
	 */
	public TestDatabase createDatabase() {
		TestDatabase database = DatabaseServer.local(this.port).createDatabase();
		this.databases.add(database);
		return database;
	}

	/**
	 * Makes another server of the files of this one, which is stopped, with pg_upgrade.
	 * @return the other server
	 */
	public OwnServer upgrade() {
		stop(StopMode.FAST);
		try {
			OwnServer upgraded = new OwnServer(this.binaries, Files.createTempDirectory("pgbus-own-server-"),
					freePort());
			Runtime.getRuntime().addShutdownHook(upgraded.shutdownHook);
			upgraded.initialize(Map.of());
			upgraded.run("pg_upgrade", "-b", this.binaries.toString(), "-B", this.binaries.toString(), "-d",
					data().toString(), "-D", upgraded.data().toString(), "-U", "postgres");
			upgraded.start();
			return upgraded;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Makes a standby of this server, which is at work meanwhile: copies its files and
	 * lets the copy follow.
	 * @param settings settings of the standby, in addition to those of this server
	 * @return the standby, which follows
	 */
	OwnServer startStandby(Map<String, String> settings) {
		try (Connection connection = DatabaseServer.local(this.port).unpooled("postgres").getConnection();
				Statement statement = connection.createStatement()) {
			OwnServer standby = new OwnServer(this.binaries, Files.createTempDirectory("pgbus-own-server-"),
					freePort());
			Runtime.getRuntime().addShutdownHook(standby.shutdownHook);
			boolean isOld = connection.getMetaData().getDatabaseMajorVersion() < 15;
			statement.execute(isOld ? "select pg_start_backup('standby', true, false)"
					: "select pg_backup_start('standby', true)");
			DataDirectory.copy(data(), standby.data());
			try (ResultSet row = statement.executeQuery(isOld ? "select labelfile from pg_stop_backup(false, false)"
					: "select labelfile from pg_backup_stop(false)")) {
				row.next();
				Files.writeString(standby.data().resolve("backup_label"), row.getString(1));
			}
			Files.createFile(standby.data().resolve("standby.signal"));
			Map<String, String> all = new LinkedHashMap<>(settings);
			all.put("port", Integer.toString(standby.port));
			all.put("primary_conninfo", "host=localhost port=" + this.port + " user=postgres dbname=postgres");
			all.put("synchronous_standby_names", "");
			standby.configure(all);
			standby.start();
			return standby;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Makes a primary of this standby.
	 */
	void promote() {
		run("pg_ctl", "-D", data().toString(), "-w", "-t", "60", "promote");
	}

	/**
	 * Returns a database that is here or in another server, wherever the primary is.
	 * @param other the other server
	 * @param name the name of the database
	 * @return the database
	 */
	TestDatabase databaseHereOrIn(OwnServer other, String name) {
		TestDatabase database = new TestDatabase(DatabaseServer.local(other.port, this.port), name);
		this.databases.add(database);
		return database;
	}

	/**
	 * Returns a database that is in this server already.
	 * @param name its name
	 * @return the database
	 */
	public TestDatabase database(String name) {
		TestDatabase database = new TestDatabase(DatabaseServer.local(this.port), name);
		this.databases.add(database);
		return database;
	}

	/**
	 * Stops the server and starts it again.
	 * @param mode how to stop it
	 */
	public void restart(StopMode mode) {
		stop(mode);
		start();
	}

	/**
	 * Stops the server; does nothing if it is stopped.
	 * @param mode how to stop it
	 */
	public synchronized void stop(StopMode mode) {
		if (this.running) {
			this.databases.forEach(TestDatabase::evictConnections);
			run("pg_ctl", "-D", data().toString(), "-m", mode.name().toLowerCase(Locale.ROOT), "-w", "-t", "60",
					"stop");
			this.running = false;
		}
	}

	/**
	 * Starts the server, and comes back when it accepts connections; does nothing if it
	 * is running.
	 */
	public synchronized void start() {
		if (!this.running) {
			run("pg_ctl", "-D", data().toString(), "-l", log().toString(), "-w", "-t", "60", "start");
			this.running = true;
		}
	}

	/**
	 * Stops the server and deletes its data.
	 */
	@Override
	public void close() {
		Runtime.getRuntime().removeShutdownHook(this.shutdownHook);
		stopAndDelete();
	}

	private void stopAndDelete() {
		this.databases.forEach(TestDatabase::closePool);
		try {
			stop(StopMode.IMMEDIATE);
			FileSystemUtils.deleteRecursively(this.directory);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private Path data() {
		return this.directory.resolve("data");
	}

	private Path log() {
		return this.directory.resolve("server.log");
	}

	/**
	 * Runs one of the server's programs, and fails if it does.
	 * @param program its name
	 * @param arguments its arguments
	 */
	public void run(String program, String... arguments) {
		List<String> command = new ArrayList<>();
		if (LinuxUtils.isUnshareAvailable()) {
			// PostgreSQL refuses to run as root. Like the embedded server, this one then
			// runs in a user
			// namespace in which root is nobody.
			command.addAll(List.of("unshare", "-U"));
		}
		command.add(this.binaries.resolve(program).toString());
		command.addAll(List.of(arguments));
		Path output = this.directory.resolve(program + ".out");
		try {
			// To a file: the server inherits the output, and a pipe would not end before
			// the server does.
			Process process = new ProcessBuilder(command).directory(this.directory.toFile())
				.redirectErrorStream(true)
				.redirectOutput(output.toFile())
				.start();
			if (!process.waitFor(90, TimeUnit.SECONDS) || process.exitValue() != 0) {
				process.destroy();
				throw new IllegalStateException(
						command.stream().collect(Collectors.joining(" ")) + " failed: " + read(output) + read(log()));
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while running " + program, ex);
		}
	}

	private static String read(Path file) throws IOException {
		return Files.exists(file) ? Files.readString(file) : "";
	}

	/**
	 * How a server is stopped.
	 */
	public enum StopMode {

		/**
		 * Cleanly: open transactions are rolled back and connections closed.
		 */
		FAST,

		/**
		 * As in a crash: the next start recovers from the write-ahead log.
		 */
		IMMEDIATE

	}

}
