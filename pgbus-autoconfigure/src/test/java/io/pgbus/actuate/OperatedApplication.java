package io.pgbus.actuate;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

import io.pgbus.Event;
import io.pgbus.EventPublisher;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.testing.TestDatabase;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.data.jpa.autoconfigure.DataJpaRepositoriesAutoConfiguration;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;

/**
 * An application with a web server that an operator looks after over HTTP. Its listeners
 * fail on the events that are said to be broken.
 */
final class OperatedApplication implements AutoCloseable {

	private static final List<String> SECURITY = List.of(
			"org.springframework.boot.security.autoconfigure.UserDetailsServiceAutoConfiguration",
			"org.springframework.boot.security.autoconfigure.SecurityAutoConfiguration",
			"org.springframework.boot.security.autoconfigure.web.servlet.ServletWebSecurityAutoConfiguration",
			"org.springframework.boot.security.autoconfigure.web.servlet.SecurityFilterAutoConfiguration",
			"org.springframework.boot.security.autoconfigure.actuate.web.servlet.ManagementWebSecurityAutoConfiguration");

	private final HttpClient client = HttpClient.newHttpClient();

	private final ConfigurableApplicationContext context;

	final Shop shop;

	final EventPublisher publisher;

	final PgListenerContainerRegistry registry;

	private OperatedApplication(ConfigurableApplicationContext context) {
		this.context = context;
		this.shop = context.getBean(Shop.class);
		this.publisher = context.getBean(EventPublisher.class);
		this.registry = context.getBean(PgListenerContainerRegistry.class);
	}

	static OperatedApplication start(TestDatabase database, String... properties) {
		return start(database, List.of("spring.autoconfigure.exclude=" + String.join(",", SECURITY)), properties);
	}

	static OperatedApplication startSecured(TestDatabase database, String... properties) {
		return start(database, List.of("spring.security.user.name=ada", "spring.security.user.password=secret",
				"spring.security.user.roles=OPERATOR"), properties);
	}

	private static OperatedApplication start(TestDatabase database, List<String> first, String... properties) {
		String[] all = Stream
			.of(first.stream(), Arrays.stream(database.springProperties()),
					Stream.of("server.port=0", "management.endpoints.web.exposure.include=*",
							"spring.application.name=shop", "management.endpoint.health.show-details=always",
							"pgbus.listener.retry.attempts=1"),
					Arrays.stream(properties))
			.flatMap((each) -> each)
			.toArray(String[]::new);
		return new OperatedApplication(new SpringApplicationBuilder(Application.class).properties(all).run());
	}

	<T> T getBean(Class<T> type) {
		return this.context.getBean(type);
	}

	Answer get(String path) {
		return send("GET", path, null, false);
	}

	Answer getAsAda(String path) {
		return send("GET", path, null, true);
	}

	Answer post(String path, String body) {
		return send("POST", path, body, false);
	}

	Answer delete(String path) {
		return send("DELETE", path, null, false);
	}

	private Answer send(String method, String path, @Nullable String body, boolean asAda) {
		String port = this.context.getEnvironment().getRequiredProperty("local.server.port");
		HttpRequest.Builder request = HttpRequest
			.newBuilder(URI.create("http://localhost:" + port + "/actuator" + path))
			.header("Content-Type", "application/json")
			.method(method,
					(body != null) ? BodyPublishers.ofString(body.replace('\'', '"')) : BodyPublishers.noBody());
		if (asAda) {
			request.header("Authorization", "Basic " + Base64.getEncoder().encodeToString("ada:secret".getBytes()));
		}
		try {
			var response = this.client.send(request.build(), BodyHandlers.ofString());
			String text = response.body();
			return new Answer(response.statusCode(), JsonMapper.shared().readTree(text.startsWith("{") ? text : "{}"),
					text);
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Override
	public void close() {
		this.context.close();
	}

	record Answer(int status, JsonNode body, String text) {

		/** What is found under names and indexes, separated by slashes, as text. */
		String at(String path) {
			JsonNode node = this.body.at("/" + path);
			return (node.isMissingNode() || node.isNull()) ? "missing"
					: node.isValueNode() ? node.asString() : node.toString();
		}

	}

	@SpringBootConfiguration(proxyBeanMethods = false)
	@EnableAutoConfiguration(
			exclude = { HibernateJpaAutoConfiguration.class, DataJpaRepositoriesAutoConfiguration.class })
	@Import(Shop.class)
	static class Application {

	}

	static class Shop {

		final Set<Integer> broken = ConcurrentHashMap.newKeySet();

		final Queue<Integer> billed = new ConcurrentLinkedQueue<>();

		final Queue<Integer> shipped = new ConcurrentLinkedQueue<>();

		/** What to do while an order is billed. */
		volatile Runnable whileBilling = () -> {
		};

		@PgEventListener(id = "bill", streams = "orders", group = "billing", start = "earliest")
		void bill(Event<Integer> order) {
			this.whileBilling.run();
			handle(order, this.billed);
		}

		@PgEventListener(id = "ship", streams = "orders", group = "shipping", start = "earliest", onDead = "hold-key")
		void ship(Event<Integer> order) {
			handle(order, this.shipped);
		}

		private void handle(Event<Integer> order, Queue<Integer> handled) {
			if (this.broken.contains(order.payload())) {
				throw new IllegalStateException("order " + order.payload() + " is broken");
			}
			handled.add(order.payload());
		}

	}

}
