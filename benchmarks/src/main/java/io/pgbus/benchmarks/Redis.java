package io.pgbus.benchmarks;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * A Redis server, where there is one to start. As durable as PostgreSQL: every command is
 * on disk before it is answered.
 *
 * @param process the server, or {@code null} if there is none
 * @param port the port, or 0
 * @param version the version
 */
record Redis(@Nullable Process process, int port, String version) implements AutoCloseable {

	/** The side that needs it. */
	static final String NAME = "redis streams";

	static Redis start(Path target) throws IOException, InterruptedException {
		String version;
		try {
			Process asked = new ProcessBuilder("redis-server", "--version").start();
			version = new String(asked.getInputStream().readAllBytes()).replaceAll("(?s).*v=(\\S+).*", "$1");
		}
		catch (IOException ex) {
			System.out.println("There is no redis-server here: its rows will be missing");
			return new Redis(null, 0, "none: redis-server is not installed");
		}
		int port;
		try (ServerSocket socket = new ServerSocket(0)) {
			port = socket.getLocalPort();
		}
		Path directory = Files.createTempDirectory("pgbus-benchmarks-redis-");
		Process process = new ProcessBuilder(
				List.of("redis-server", "--port", Integer.toString(port), "--bind", "127.0.0.1", "--dir",
						directory.toString(), "--appendonly", "yes", "--appendfsync", "always", "--save", ""))
			.redirectErrorStream(true)
			.redirectOutput(target.resolve("logs/redis-server.log").toFile())
			.start();
		Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
		for (int attempt = 0; attempt < 100; attempt++) {
			try (Socket socket = new Socket()) {
				socket.connect(new InetSocketAddress("127.0.0.1", port), 1000);
				break;
			}
			catch (IOException ex) {
				Thread.sleep(100);
			}
		}
		return new Redis(process, port, version);
	}

	@Override
	public void close() throws InterruptedException {
		if (this.process != null) {
			this.process.destroy();
			this.process.waitFor();
		}
	}

}
