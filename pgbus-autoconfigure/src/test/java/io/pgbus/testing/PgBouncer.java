package io.pgbus.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.zonky.test.db.postgres.util.LinuxUtils;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

import org.springframework.util.FileSystemUtils;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * A PgBouncer in front of a test database. Skips the test where the program is not
 * installed.
 */
public final class PgBouncer implements AutoCloseable {

	private final TestDatabase database;

	private final Path directory;

	private final Process process;

	private final int port;

	private final Thread shutdownHook = new Thread(this::stopAndDelete, "stop-pgbouncer");

	private PgBouncer(TestDatabase database, Path directory, Process process, int port) {
		this.database = database;
		this.directory = directory;
		this.process = process;
		this.port = port;
		Runtime.getRuntime().addShutdownHook(this.shutdownHook);
	}

	/**
	 * Starts a PgBouncer that hands the server's sessions on after every transaction.
	 * @param database the database
	 * @return the PgBouncer, to be closed before the database
	 */
	public static PgBouncer start(TestDatabase database) {
		return start(database, PoolMode.TRANSACTION);
	}

	/**
	 * Starts a PgBouncer.
	 * @param database the database
	 * @param mode when it hands the server's sessions on
	 * @return the PgBouncer, to be closed before the database
	 */
	public static PgBouncer start(TestDatabase database, PoolMode mode) {
		Optional<Path> program = program();
		assumeTrue(program.isPresent(), "Needs the program pgbouncer (Debian's package pgbouncer)");
		try {
			Path directory = Files.createTempDirectory("pgbus-pgbouncer-");
			int port = freePort();
			PgBouncer bouncer = new PgBouncer(database, directory,
					run(program.get(), configure(database, mode, directory, port)), port);
			bouncer.awaitStart();
			return bouncer;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static Optional<Path> program() {
		// Debian's place is not on everyone's path.
		return Stream.concat(Stream.of(System.getenv("PATH").split(":")), Stream.of("/usr/sbin"))
			.map((directory) -> Path.of(directory, "pgbouncer"))
			.filter(Files::isExecutable)
			.findFirst();
	}

	private static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
	}

	private static Path configure(TestDatabase database, PoolMode mode, Path directory, int port) throws IOException {
		Properties server = Objects.requireNonNull(Driver.parseURL(database.jdbcUrl(), null));
		Path users = directory.resolve("users.txt");
		Files.writeString(users, "\"%s\" \"%s\"\n".formatted(database.username(), database.password()));
		Path configuration = directory.resolve("pgbouncer.ini");
		Files.writeString(configuration,
				"""
						[databases]
						%s = host=%s port=%s

						[pgbouncer]
						listen_addr = 127.0.0.1
						listen_port = %d
						unix_socket_dir =
						auth_type = trust
						auth_file = %s
						pool_mode = %s
						ignore_startup_parameters = extra_float_digits
						logfile = %s
						""".formatted(database.name(), PGProperty.PG_HOST.getOrDefault(server),
						PGProperty.PG_PORT.getOrDefault(server), port, users, mode.name().toLowerCase(Locale.ROOT),
						directory.resolve("pgbouncer.log")));
		return configuration;
	}

	private static Process run(Path program, Path configuration) throws IOException {
		List<String> command = new ArrayList<>();
		if (LinuxUtils.isUnshareAvailable()) {
			// It refuses to run as root, as PostgreSQL does (see OwnServer).
			command.addAll(List.of("unshare", "-U"));
		}
		command.addAll(List.of(program.toString(), "-q", configuration.toString()));
		return new ProcessBuilder(command).redirectErrorStream(true)
			.redirectOutput(configuration.resolveSibling("pgbouncer.out").toFile())
			.start();
	}

	private void awaitStart() throws IOException {
		try {
			await().atMost(Duration.ofSeconds(30))
				.pollInterval(Duration.ofMillis(20))
				.failFast("PgBouncer ended", () -> !this.process.isAlive())
				.until(this::accepts);
		}
		catch (RuntimeException ex) {
			Path log = this.directory.resolve("pgbouncer.log");
			String said = Files.readString(this.directory.resolve("pgbouncer.out"))
					+ (Files.exists(log) ? Files.readString(log) : "");
			close();
			throw new IllegalStateException("PgBouncer did not start: " + said, ex);
		}
	}

	private boolean accepts() {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), this.port)) {
			return socket.isConnected();
		}
		catch (IOException ex) {
			return false;
		}
	}

	/**
	 * The JDBC URL of the database by way of the PgBouncer, without user and password,
	 * which are the database's own.
	 * @return the URL
	 */
	public String jdbcUrl() {
		return "jdbc:postgresql://127.0.0.1:" + this.port + "/" + this.database.name() + "?prepareThreshold=0";
	}

	/**
	 * Stops the PgBouncer, and cuts whoever is connected to it off.
	 */
	@Override
	public void close() {
		Runtime.getRuntime().removeShutdownHook(this.shutdownHook);
		stopAndDelete();
	}

	private void stopAndDelete() {
		this.process.destroy();
		try {
			if (!this.process.waitFor(10, TimeUnit.SECONDS)) {
				this.process.destroyForcibly();
			}
			FileSystemUtils.deleteRecursively(this.directory);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * When a PgBouncer hands the server's session on to another client.
	 */
	public enum PoolMode {

		/**
		 * When the client disconnects.
		 */
		SESSION,

		/**
		 * After every transaction.
		 */
		TRANSACTION

	}

}
