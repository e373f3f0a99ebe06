package io.pgbus.annotation;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

import io.pgbus.EventTypeResolver;
import io.pgbus.core.AnnotationEventTypeResolver;
import io.pgbus.core.EventConverter;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;

/**
 * An application context with the post-processor and a {@link RecordingRegistry}.
 */
final class ListenerContext implements AutoCloseable {

	private final AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();

	private final RecordingRegistry registry = new RecordingRegistry();

	private ListenerContext(Map<String, Object> properties, Consumer<AnnotationConfigApplicationContext> customizer) {
		this.context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", properties));
		this.context.registerBean(PgEventListenerAnnotationBeanPostProcessor.class);
		this.context.registerBean(RecordingRegistry.class, () -> this.registry);
		this.context.registerBean(EventConverter.class, () -> new EventConverter(JsonMapper.builder().build()));
		this.context.registerBean(EventTypeResolver.class, AnnotationEventTypeResolver::new);
		customizer.accept(this.context);
		try {
			this.context.refresh();
		}
		catch (RuntimeException ex) {
			this.context.close();
			throw ex;
		}
	}

	static ListenerContext of(Class<?>... beans) {
		return of(Map.of(), beans);
	}

	static ListenerContext of(Map<String, Object> properties, Class<?>... beans) {
		return new ListenerContext(properties, (context) -> context.register(beans));
	}

	static ListenerContext with(Consumer<AnnotationConfigApplicationContext> customizer) {
		return new ListenerContext(Map.of(), customizer);
	}

	static Map<String, Object> properties(String... keysAndValues) {
		Map<String, Object> properties = new LinkedHashMap<>();
		for (int i = 0; i < keysAndValues.length; i += 2) {
			properties.put(keysAndValues[i], keysAndValues[i + 1]);
		}
		return properties;
	}

	RecordingRegistry registry() {
		return this.registry;
	}

	AnnotationConfigApplicationContext context() {
		return this.context;
	}

	<T> T bean(Class<T> type) {
		return this.context.getBean(type);
	}

	@Override
	public void close() {
		this.context.close();
	}

	/** What a listener has been given. */
	static class Received {

		final List<Object> values = new ArrayList<>();

		void add(Object... values) {
			this.values.add((values.length == 1) ? values[0] : List.of(values));
		}

	}

}
