package io.pgbus.annotation;

import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;

import io.pgbus.Event;
import io.pgbus.listener.PgListenerContainer;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import org.mockito.Mockito;

/**
 * Remembers endpoints and calls their handlers without a database.
 */
class RecordingRegistry implements PgListenerContainerRegistry {

	static final Instant PUBLISHED_AT = Instant.parse("2026-01-31T12:00:00Z");

	private final Map<String, PgListenerEndpoint> endpoints = new LinkedHashMap<>();

	private final AtomicLong ids = new AtomicLong(1);

	@Override
	public PgListenerContainer register(PgListenerEndpoint endpoint) {
		if (this.endpoints.putIfAbsent(endpoint.id(), endpoint) != null) {
			throw new IllegalArgumentException("There is a listener \"" + endpoint.id() + "\"");
		}
		return container(endpoint);
	}

	@Override
	public boolean unregister(String id) {
		return this.endpoints.remove(id) != null;
	}

	@Override
	public PgListenerContainer find(String id) {
		PgListenerEndpoint endpoint = this.endpoints.get(id);
		return (endpoint != null) ? container(endpoint) : null;
	}

	@Override
	public Collection<PgListenerContainer> containers() {
		return this.endpoints.values().stream().map(RecordingRegistry::container).toList();
	}

	Collection<String> ids() {
		return this.endpoints.keySet();
	}

	PgListenerEndpoint endpoint(String id) {
		PgListenerEndpoint endpoint = this.endpoints.get(id);
		if (endpoint == null) {
			throw new AssertionError("No listener " + id + " but " + this.endpoints.keySet());
		}
		return endpoint;
	}

	CompletionStage<?> deliver(String id, String type, String... payloads) throws Exception {
		return deliver(id, Arrays.stream(payloads).map((payload) -> event(type, payload, Map.of())).toList());
	}

	CompletionStage<?> deliver(String id, List<Event<Object>> events) throws Exception {
		return endpoint(id).handler().handle(events);
	}

	Event<Object> event(String type, String payload, Map<String, String> headers) {
		return new Event<>(this.ids.getAndIncrement(), "orders", 3, type, "key", payload, headers, PUBLISHED_AT, 2);
	}

	private static PgListenerContainer container(PgListenerEndpoint endpoint) {
		PgListenerContainer container = Mockito.mock(PgListenerContainer.class);
		Mockito.when(container.endpoint()).thenReturn(endpoint);
		return container;
	}

	@Override
	public void start() {
	}

	@Override
	public void stop() {
	}

	@Override
	public boolean isRunning() {
		return true;
	}

}
