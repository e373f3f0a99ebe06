package io.pgbus.benchmarks;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The process of a side. Does a round for each line that it reads, and writes the figures
 * in lines that begin with {@value #MARK}; all else that it writes is its log.
 */
final class SideProcess {

	static final String MARK = "@@ ";

	static final String DONE = MARK + "done";

	/** How long a side may take to close. */
	private static final Duration GRACE = Duration.ofSeconds(20);

	private SideProcess() {
	}

	public static void main(String[] args) throws Exception {
		PrintStream out = System.out;
		System.setOut(System.err);
		Environment environment = new Environment(args[2], Integer.parseInt(args[3]), Scale.of(args[4]));
		BlockingQueue<String> rounds = readRounds();
		environment.execute(Consumption.TABLE);
		try (Side side = Sides.create(args[0], args[1], environment)) {
			side.warmUp();
			out.println(DONE);
			while (rounds.take().equals("round")) {
				side.round().forEach((metric, value) -> out.println(MARK + metric + " " + value));
				out.println(DONE);
			}
		}
		catch (Throwable ex) {
			ex.printStackTrace();
			// a peer's threads may keep the process alive
			System.exit(1);
		}
		System.exit(0);
	}

	/** When the benchmarks end, whatever the reason, so does this process. */
	private static BlockingQueue<String> readRounds() {
		BlockingQueue<String> rounds = new LinkedBlockingQueue<>();
		Thread reader = new Thread(() -> {
			BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
			in.lines().forEach(rounds::add);
			rounds.add("end");
			try {
				Thread.sleep(GRACE.toMillis());
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			Runtime.getRuntime().halt(2);
		}, "read-rounds");
		reader.setDaemon(true);
		reader.start();
		return rounds;
	}

}
