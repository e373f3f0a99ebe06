package io.pgbus.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.postgresql.PGProperty;
import org.postgresql.ds.PGSimpleDataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.postgresql.PostgreSQLContainer;

import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * A running PostgreSQL server, and how to reach its databases.
 *
 * @param kind where the server comes from
 * @param urlPrefix the JDBC URL up to the database's name
 * @param urlSuffix the JDBC URL after the database's name
 * @param adminDatabase the database from which others are created and dropped
 * @param username the user, who may create databases
 * @param password the user's password
 */
record DatabaseServer(Kind kind, String urlPrefix, String urlSuffix, String adminDatabase, String username,
		String password) {

	private static final Logger logger = LoggerFactory.getLogger(DatabaseServer.class);

	private static final Pattern URL = Pattern.compile("(jdbc:postgresql://[^/?]*/)([^?]*)(\\?.*)?");

	private static @Nullable DatabaseServer shared;

	/**
	 * The settings of every server that the tests start. Commits are synchronous as in
	 * production, so that none is lost where a test kills the server; what the operating
	 * system has not yet written is not at stake.
	 */
	static final Map<String, String> SETTINGS = settings();

	private static Map<String, String> settings() {
		Map<String, String> settings = new LinkedHashMap<>();
		settings.put("wal_level", "logical");
		settings.put("max_connections", "200");
		settings.put("max_prepared_transactions", "10");
		settings.put("max_replication_slots", "20");
		settings.put("max_wal_senders", "20");
		settings.put("fsync", "off");
		settings.put("full_page_writes", "off");
		settings.put("synchronous_commit", "on");
		settings.put("timezone", "UTC");
		return Map.copyOf(settings);
	}

	/**
	 * The one server of this JVM, started at the first call.
	 */
	static synchronized DatabaseServer shared() {
		DatabaseServer server = shared;
		if (server == null) {
			server = start();
			logger.info("Tests use PostgreSQL {} ({})", server.version(),
					server.kind().name().toLowerCase(Locale.ROOT));
			shared = server;
		}
		return server;
	}

	private static DatabaseServer start() {
		String url = System.getProperty("pgbus.test.jdbc-url", "");
		if (!url.isBlank()) {
			return external(url);
		}
		String choice = System.getProperty("pgbus.test.database", "auto");
		return switch (choice) {
			case "auto" -> DockerClientFactory.instance().isDockerAvailable() ? startTestcontainers() : startEmbedded();
			case "embedded" -> startEmbedded();
			case "testcontainers" -> startTestcontainers();
			default -> throw new IllegalArgumentException(
					"pgbus.test.database must be auto, embedded or testcontainers, and is '" + choice + "'");
		};
	}

	private static DatabaseServer external(String url) {
		Matcher matcher = URL.matcher(url);
		Properties properties = Driver.parseURL(url, null);
		if (!matcher.matches() || properties == null) {
			throw new IllegalArgumentException(
					"pgbus.test.jdbc-url must be like jdbc:postgresql://host:port/database?parameters");
		}
		String username = PGProperty.USER.getOrDefault(properties);
		String password = PGProperty.PASSWORD.getOrDefault(properties);
		// Out of the URL, as the driver would prefer them to a data source's own.
		String query = (matcher.group(3) != null) ? matcher.group(3).substring(1) : "";
		query = Stream.of(query.split("&"))
			.filter((parameter) -> !parameter.isEmpty() && !parameter.startsWith("user=")
					&& !parameter.startsWith("password="))
			.collect(Collectors.joining("&"));
		return new DatabaseServer(Kind.EXTERNAL, matcher.group(1), query.isEmpty() ? "" : "?" + query,
				matcher.group(2).isEmpty() ? "postgres" : matcher.group(2),
				(username != null) ? username : System.getProperty("pgbus.test.username", "postgres"),
				(password != null) ? password : System.getProperty("pgbus.test.password", ""));
	}

	private static DatabaseServer startEmbedded() {
		EmbeddedPostgres.Builder builder = EmbeddedPostgres.builder()
			.setPGStartupWait(Duration.ofSeconds(60))
			.setLocaleConfig("locale", "C");
		SETTINGS.forEach(builder::setServerConfig);
		try {
			// It stops itself, and deletes its data, in a shutdown hook of its own.
			EmbeddedPostgres postgres = builder.start();
			return local(postgres.getPort());
		}
		catch (IOException ex) {
			throw new UncheckedIOException("Could not start an embedded PostgreSQL", ex);
		}
	}

	private static DatabaseServer startTestcontainers() {
		String version = System.getProperty("pgbus.test.postgres-version", "18");
		List<String> command = new ArrayList<>(List.of("postgres"));
		SETTINGS.forEach((name, value) -> command.addAll(List.of("-c", name + "=" + value)));
		@SuppressWarnings("resource")
		PostgreSQLContainer container = new PostgreSQLContainer("postgres:" + version).withUsername("postgres")
			.withPassword("postgres")
			.withDatabaseName("postgres")
			.withCommand(command.toArray(String[]::new));
		container.start();
		Runtime.getRuntime().addShutdownHook(new Thread(container::stop, "stop-test-database"));
		return new DatabaseServer(Kind.TESTCONTAINERS,
				"jdbc:postgresql://" + container.getHost() + ":"
						+ container.getMappedPort(PostgreSQLContainer.POSTGRESQL_PORT) + "/",
				"", "postgres", container.getUsername(), container.getPassword());
	}

	/**
	 * An embedded server, which trusts everyone who comes from this machine.
	 */
	static DatabaseServer local(int port) {
		return new DatabaseServer(Kind.EMBEDDED, "jdbc:postgresql://localhost:" + port + "/", "", "postgres",
				"postgres", "postgres");
	}

	/**
	 * The one of two embedded servers that is the primary. The driver asks again soon.
	 */
	static DatabaseServer local(int port, int otherPort) {
		return new DatabaseServer(Kind.EMBEDDED,
				"jdbc:postgresql://localhost:" + port + ",localhost:" + otherPort + "/",
				"?targetServerType=primary&hostRecheckSeconds=1", "postgres", "postgres", "postgres");
	}

	String jdbcUrl(String database) {
		return this.urlPrefix + database + this.urlSuffix;
	}

	TestDatabase createDatabase() {
		String name = "pgbus_test_" + UUID.randomUUID().toString().replace("-", "");
		admin().sql("create database " + name).update();
		return new TestDatabase(this, name);
	}

	void dropDatabase(String name) {
		// Neither of these gives way to the force below.
		List<String> prepared = admin().sql("select gid from pg_prepared_xacts where database = ?")
			.param(name)
			.query(String.class)
			.list();
		if (!prepared.isEmpty()) {
			JdbcClient inside = client(name);
			prepared.forEach((gid) -> inside.sql("rollback prepared '%s'".formatted(gid.replace("'", "''"))).update());
		}
		admin().sql("""
				select pg_terminate_backend(active_pid, 10000) from pg_replication_slots
				where database = ? and active_pid is not null""").param(name).query().listOfRows();
		admin().sql("drop database if exists " + name + " with (force)").update();
	}

	String version() {
		return admin().sql("show server_version").query(String.class).single();
	}

	JdbcClient admin() {
		return client(this.adminDatabase);
	}

	private JdbcClient client(String database) {
		return JdbcClient.create(unpooled(database));
	}

	PGSimpleDataSource unpooled(String database) {
		PGSimpleDataSource dataSource = new PGSimpleDataSource();
		dataSource.setUrl(jdbcUrl(database));
		dataSource.setUser(this.username);
		dataSource.setPassword(this.password);
		return dataSource;
	}

	/**
	 * Where a server comes from.
	 */
	enum Kind {

		/**
		 * From the binaries on the class path, on this machine.
		 */
		EMBEDDED,

		/**
		 * In a container.
		 */
		TESTCONTAINERS,

		/**
		 * From outside: the tests were given a JDBC URL.
		 */
		EXTERNAL

	}

}
