package io.pgbus.listener;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.pgbus.testing.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * A process of {@link InstanceMain}, or of another main class of the tests. What it logs
 * is in a file below <code>target</code>.
 */
public final class InstanceProcess implements AutoCloseable {

	private final Process process;

	private boolean frozen;

	private InstanceProcess(Process process) {
		this.process = process;
	}

	/**
	 * Starts an application.
	 * @param database the database
	 * @param timeout the silence after which it may be taken for dead
	 * @param batchSize how many events it reads at once
	 * @param eventsPerTransaction how many it handles in one transaction
	 */
	static InstanceProcess start(TestDatabase database, Duration timeout, int batchSize, int eventsPerTransaction) {
		return start(InstanceMain.class, database, List.of("-Xmx192m"), "timeout=" + timeout.toMillis(),
				"batch-size=" + batchSize, "events-per-transaction=" + eventsPerTransaction);
	}

	/**
	 * Starts a main class.
	 * @param mainClass the class
	 * @param database the database, which it is told with <code>url</code>,
	 * <code>username</code> and <code>password</code>
	 * @param jvmOptions options of its JVM
	 * @param options further arguments, each as <code>name=value</code>
	 */
	public static InstanceProcess start(Class<?> mainClass, TestDatabase database, List<String> jvmOptions,
			String... options) {
		List<String> command = new ArrayList<>();
		command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
		command.addAll(jvmOptions);
		command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
				System.getProperty("java.class.path"), mainClass.getName(), "url=" + database.jdbcUrl(),
				"username=" + database.username(), "password=" + database.password()));
		command.addAll(List.of(options));
		try {
			Path log = Files.createTempFile(Files.createDirectories(Path.of("target", "instances")),
					mainClass.getSimpleName() + "-", ".log");
			return new InstanceProcess(
					new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Skips a test that needs signals where there are none. */
	static void assumeSignals() {
		assumeTrue(Files.isExecutable(Path.of("/bin/kill")), "Needs /bin/kill");
	}

	static String consumerName(long pid) {
		return "instance-" + pid;
	}

	/** The name by which other consumers know it. */
	String consumerName() {
		return consumerName(pid());
	}

	long pid() {
		return this.process.pid();
	}

	public boolean isAlive() {
		return this.process.isAlive();
	}

	boolean isFrozen() {
		return this.frozen;
	}

	/** Ends it without letting it do anything: SIGKILL. */
	public void kill() {
		this.process.destroyForcibly();
		waitFor();
	}

	/** Stops all of its threads where they are: SIGSTOP. */
	void freeze() {
		signal("STOP");
		this.frozen = true;
	}

	/** Lets it go on as if nothing had been: SIGCONT. */
	void thaw() {
		signal("CONT");
		this.frozen = false;
	}

	/** Lets it end in its own way. */
	void end() {
		try {
			this.process.getOutputStream().close();
		}
		catch (IOException ex) {
			// it is gone
		}
		waitFor();
	}

	int waitFor() {
		try {
			assertThat(this.process.waitFor(5, TimeUnit.MINUTES)).isTrue();
			return this.process.exitValue();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	private void signal(String name) {
		try {
			Process kill = new ProcessBuilder("/bin/kill", "-" + name, Long.toString(pid())).start();
			assertThat(kill.waitFor()).isZero();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	@Override
	public void close() {
		this.process.destroyForcibly();
	}

}
