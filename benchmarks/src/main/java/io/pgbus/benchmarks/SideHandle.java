package io.pgbus.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A side's process, as the benchmarks see it.
 */
final class SideHandle implements AutoCloseable {

	private static final String END = "end";

	/** All processes have the same heap and the same collector. */
	private static final List<String> JVM_OPTIONS = List.of("-Xms256m", "-Xmx1g", "-XX:+UseG1GC",
			"-Djava.awt.headless=true");

	private final String name;

	private final Path log;

	private final Process process;

	private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

	private SideHandle(String name, Path log, Process process) {
		this.name = name;
		this.log = log;
		this.process = process;
	}

	static SideHandle start(Piece piece, String name, Path logs, boolean profiled, String... arguments)
			throws IOException {
		Path log = logs.resolve(piece.id() + "-" + name.replaceAll("[^a-zA-Z0-9]+", "-") + ".log");
		List<String> command = new ArrayList<>();
		command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
		command.addAll(JVM_OPTIONS);
		if (profiled) {
			command.add("-XX:StartFlightRecording:settings=profile,dumponexit=true,filename="
					+ log.toString().replaceAll("log$", "jfr"));
		}
		command.addAll(
				List.of("-cp", System.getProperty("java.class.path"), SideProcess.class.getName(), piece.id(), name));
		command.addAll(List.of(arguments));
		Process process = new ProcessBuilder(command).redirectError(log.toFile()).start();
		SideHandle handle = new SideHandle(name, log, process);
		Thread reader = new Thread(handle::read, "read-" + name);
		reader.setDaemon(true);
		reader.start();
		return handle;
	}

	private void read() {
		try (BufferedReader reader = new BufferedReader(
				new InputStreamReader(this.process.getInputStream(), StandardCharsets.UTF_8))) {
			reader.lines().filter((line) -> line.startsWith(SideProcess.MARK)).forEach(this.lines::add);
		}
		catch (Exception ex) {
			// the process has ended
		}
		this.lines.add(END);
	}

	String name() {
		return this.name;
	}

	void awaitWarm() throws IOException, InterruptedException {
		figures();
	}

	Map<Metric, Double> round() throws IOException, InterruptedException {
		this.process.getOutputStream().write("round\n".getBytes(StandardCharsets.UTF_8));
		this.process.getOutputStream().flush();
		return figures();
	}

	private Map<Metric, Double> figures() throws IOException, InterruptedException {
		Map<Metric, Double> figures = new EnumMap<>(Metric.class);
		while (true) {
			String line = this.lines.poll(15, TimeUnit.MINUTES);
			if (line == null || line.equals(END)) {
				throw new IOException(
						"\"" + this.name + "\" " + ((line != null) ? "failed" : "hangs") + ", see " + this.log);
			}
			if (line.equals(SideProcess.DONE)) {
				return figures;
			}
			String[] words = line.substring(SideProcess.MARK.length()).split(" ");
			figures.put(Metric.valueOf(words[0]), Double.parseDouble(words[1]));
		}
	}

	@Override
	public void close() throws InterruptedException {
		try {
			this.process.getOutputStream().close();
		}
		catch (IOException ex) {
			// it has ended
		}
		if (!this.process.waitFor(30, TimeUnit.SECONDS)) {
			this.process.destroyForcibly().waitFor();
		}
	}

}
