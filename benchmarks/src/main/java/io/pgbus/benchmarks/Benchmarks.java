package io.pgbus.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Runs the pieces, one after the other. The sides of a piece take turns, round by round,
 * so that what else the machine does meets all of them.
 */
public final class Benchmarks {

	/**
	 * What the quick mode leaves out, as other pieces have the same code with other
	 * numbers.
	 */
	private static final Set<String> SAME_CODE = Set.of("a8", "c1", "e1000", "e1000i", "i");

	private final Server server;

	private final int redisPort;

	private final String scaleName;

	private final Path target;

	private final boolean profiled;

	private final List<Measurement> measurements = new ArrayList<>();

	private final List<String> failures = new ArrayList<>();

	private int databases;

	private Benchmarks(Server server, int redisPort, String scaleName, Path target, boolean profiled) {
		this.server = server;
		this.redisPort = redisPort;
		this.scaleName = scaleName;
		this.target = target;
		this.profiled = profiled;
	}

	/**
	 * Runs them.
	 * @param args {@code quick}, {@code short}, {@code full} or {@code huge}; perhaps
	 * {@code --only=a1,c8} with ids of pieces or the letters they begin with, and
	 * {@code --sides=pgbus,limit}, and {@code --jfr} for a flight recording of each side
	 * @throws Exception if they cannot be run
	 */
	public static void main(String[] args) throws Exception {
		String scale = "full";
		Set<String> only = Set.of();
		Set<String> sides = Set.of();
		boolean profiled = false;
		for (String arg : args) {
			if (arg.startsWith("--only=")) {
				only = Set.of(arg.substring("--only=".length()).split(","));
			}
			else if (arg.startsWith("--sides=")) {
				sides = Set.of(arg.substring("--sides=".length()).split(","));
			}
			else if (arg.equals("--jfr")) {
				profiled = true;
			}
			else {
				scale = arg;
			}
		}
		Scale.of(scale);
		Path target = Path.of("target");
		Files.createDirectories(target.resolve("logs"));
		long start = System.nanoTime();
		try (Server server = Server.start(); Redis redis = Redis.start(target)) {
			Benchmarks benchmarks = new Benchmarks(server, redis.port(), scale, target, profiled);
			for (Piece piece : Piece.all()) {
				boolean chosen = only.isEmpty() ? !(scale.equals("quick") && SAME_CODE.contains(piece.id()))
						: only.contains(piece.id()) || only.contains(piece.id().substring(0, 1));
				if (chosen) {
					benchmarks.run(piece, sides);
					// what is there is there if the run is ended early
					benchmarks.write(redis, Duration.ofNanos(System.nanoTime() - start));
				}
			}
			System.out.println(benchmarks.write(redis, Duration.ofNanos(System.nanoTime() - start)));
			if (!benchmarks.failures.isEmpty()) {
				System.exit(1);
			}
		}
		System.exit(0);
	}

	private String write(Redis redis, Duration time) throws Exception {
		Report report = new Report(this.measurements, this.failures);
		report.writeCsv(this.target.resolve("results.csv"));
		String markdown = report.markdown(this.server, redis, this.scaleName, time);
		Files.writeString(this.target.resolve("results.md"), markdown);
		return markdown;
	}

	private void run(Piece piece, Set<String> only) throws Exception {
		System.out.println("== " + piece.id() + ": " + piece.title());
		List<SideHandle> sides = new ArrayList<>();
		List<String> names = new ArrayList<>();
		try {
			for (String name : piece.sides()) {
				if (only.isEmpty() || only.contains(name)) {
					start(piece, name, sides, names);
				}
			}
			for (int round = 1; round <= Scale.of(this.scaleName).rounds(); round++) {
				for (SideHandle side : List.copyOf(sides)) {
					round(piece, side, round, sides);
				}
			}
		}
		finally {
			for (SideHandle side : sides) {
				side.close();
			}
			for (String database : names) {
				this.server.dropDatabase(database);
			}
		}
	}

	private void start(Piece piece, String name, List<SideHandle> sides, List<String> names) throws Exception {
		if (Redis.NAME.equals(name) && this.redisPort == 0) {
			return;
		}
		String database = "bench_" + (++this.databases);
		this.server.createDatabase(database);
		names.add(database);
		SideHandle side = SideHandle.start(piece, name, this.target.resolve("logs"), this.profiled,
				this.server.url(database), Integer.toString(this.redisPort), this.scaleName);
		try {
			side.awaitWarm();
			sides.add(side);
		}
		catch (IOException ex) {
			failed(piece, side, ex);
		}
	}

	private void round(Piece piece, SideHandle side, int round, List<SideHandle> sides) throws Exception {
		try {
			Map<Metric, Double> figures = side.round();
			figures.forEach((metric, value) -> {
				this.measurements.add(new Measurement(piece.id(), side.name(), round, metric, value));
				System.out.printf("   %-28s %d  %-14s %,12.2f %s%n", side.name(), round, metric.label(), value,
						metric.unit());
			});
		}
		catch (IOException ex) {
			sides.remove(side);
			failed(piece, side, ex);
		}
	}

	private void failed(Piece piece, SideHandle side, IOException ex) throws InterruptedException {
		side.close();
		this.failures.add(piece.id() + ": " + ex.getMessage());
		System.out.println("   " + ex.getMessage());
	}

}
