package io.pgbus.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;

import org.postgresql.Driver;
import org.postgresql.PGProperty;

/**
 * Stands between a test and its database as a network does, which may fall silent: no
 * byte comes through any more, and nobody is told.
 */
public final class TcpProxy implements AutoCloseable {

	private final TestDatabase database;

	private final String host;

	private final int port;

	private final ServerSocket server;

	private final List<Link> links = new CopyOnWriteArrayList<>();

	private TcpProxy(TestDatabase database) throws IOException {
		Properties target = Objects.requireNonNull(Driver.parseURL(database.jdbcUrl(), null));
		this.database = database;
		this.host = Objects.requireNonNull(PGProperty.PG_HOST.getOrDefault(target));
		this.port = Integer.parseInt(Objects.requireNonNull(PGProperty.PG_PORT.getOrDefault(target)));
		this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
	}

	/**
	 * Starts a proxy.
	 * @param database the database
	 * @return the proxy
	 */
	public static TcpProxy start(TestDatabase database) {
		try {
			TcpProxy proxy = new TcpProxy(database);
			daemon(proxy::accept);
			return proxy;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * The JDBC URL of the database by way of the proxy, without user and password.
	 * @return the URL
	 */
	public String jdbcUrl() {
		return "jdbc:postgresql://127.0.0.1:" + this.server.getLocalPort() + "/" + this.database.name();
	}

	/**
	 * Lets the connections that there are now fall silent, for good. New ones work.
	 */
	public void silence() {
		this.links.forEach((link) -> link.silent = true);
	}

	/**
	 * Lets the server's answers on the connections that there are now get lost, while
	 * what is sent to it still arrives. New ones work.
	 */
	public void loseAnswers() {
		this.links.forEach((link) -> link.losesAnswers = true);
	}

	/**
	 * Cuts the connections that there are now. New ones work.
	 */
	public void cut() {
		this.links.forEach(Link::close);
	}

	private void accept() {
		try {
			while (true) {
				connect(this.server.accept());
			}
		}
		catch (IOException ex) {
			// closed
		}
	}

	private void connect(Socket client) throws IOException {
		Socket target;
		try {
			target = new Socket(this.host, this.port);
		}
		catch (IOException ex) {
			// the server is down
			client.close();
			return;
		}
		Link link = new Link(client, target);
		this.links.add(link);
		daemon(() -> link.forward(link.client, link.target));
		daemon(() -> link.forward(link.target, link.client));
	}

	private static void daemon(Runnable task) {
		Thread thread = new Thread(task, "tcp-proxy");
		thread.setDaemon(true);
		thread.start();
	}

	@Override
	public void close() {
		closeQuietly(this.server);
		this.links.forEach(Link::close);
	}

	private static void closeQuietly(AutoCloseable closeable) {
		try {
			closeable.close();
		}
		catch (Exception ex) {
			// as good as closed
		}
	}

	private static final class Link {

		private final Socket client;

		private final Socket target;

		private volatile boolean silent;

		private volatile boolean losesAnswers;

		Link(Socket client, Socket target) {
			this.client = client;
			this.target = target;
		}

		void forward(Socket from, Socket to) {
			byte[] buffer = new byte[8192];
			try {
				InputStream in = from.getInputStream();
				OutputStream out = to.getOutputStream();
				for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
					if (!this.silent && !(this.losesAnswers && from == this.target)) {
						out.write(buffer, 0, read);
					}
				}
			}
			catch (IOException ex) {
				// the end, as below
			}
			if (!this.silent) {
				close();
			}
		}

		void close() {
			closeQuietly(this.client);
			closeQuietly(this.target);
		}

	}

}
