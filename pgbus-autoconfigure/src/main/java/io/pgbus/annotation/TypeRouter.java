package io.pgbus.annotation;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

import io.pgbus.Event;
import io.pgbus.listener.EventHandler;
import org.jspecify.annotations.Nullable;

/**
 * Chooses among the methods of a class by the type of the event.
 *
 * @param listener names the class in messages
 * @param methods the methods by type name
 * @param defaultMethod the method for all other types, or {@code null}
 */
record TypeRouter(String listener, Map<String, ListenerMethod> methods,
		@Nullable ListenerMethod defaultMethod) implements EventHandler {

	boolean asynchronous() {
		return this.methods.values().stream().anyMatch(ListenerMethod::asynchronous)
				|| (this.defaultMethod != null && this.defaultMethod.asynchronous());
	}

	@Override
	public @Nullable CompletionStage<?> handle(List<Event<Object>> events) throws Exception {
		String type = events.get(0).type();
		ListenerMethod method = this.methods.getOrDefault(type, this.defaultMethod);
		if (method == null) {
			throw new IllegalStateException(this.listener + " has no method for events of type \"" + type + "\".");
		}
		return method.handle(events);
	}

}
