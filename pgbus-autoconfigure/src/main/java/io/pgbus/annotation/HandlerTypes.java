package io.pgbus.annotation;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

import io.pgbus.EventType;
import io.pgbus.EventTypeResolver;
import io.pgbus.PgBusException;
import io.pgbus.TableChange;
import org.jspecify.annotations.Nullable;

import org.springframework.core.annotation.AnnotatedElementUtils;

/**
 * Decides which types of events a method is for.
 *
 * @param names gives payload classes their type names
 */
record HandlerTypes(EventTypeResolver names) {

	/** The types of a method that is a listener itself: all, unless its payload says. */
	@Nullable Set<String> of(ListenerMethod method) {
		Class<?> payload = method.payloadClass();
		return (payload != null && AnnotatedElementUtils.hasAnnotation(payload, EventType.class))
				? Set.of(this.names.resolve(payload)) : null;
	}

	/** Shares the events of a class among its methods. */
	TypeRouter router(ListenerClass declared, Function<Method, ListenerMethod> factory) {
		String listener = declared.type().getName();
		Map<String, ListenerMethod> methods = new LinkedHashMap<>();
		ListenerMethod defaultMethod = null;
		for (Map.Entry<Method, PgEventHandler> entry : declared.handlers().entrySet()) {
			ListenerMethod method = factory.apply(entry.getKey());
			ListenerMethod other;
			if (entry.getValue().isDefault()) {
				other = defaultMethod;
				defaultMethod = method;
			}
			else {
				other = methods.put(typeOf(method), method);
			}
			if (other != null) {
				throw new PgBusException(listener + " has two methods for the same events: " + method.description()
						+ " and " + other.description() + ". Remove one of them"
						+ (entry.getValue().isDefault() ? ", or isDefault = true of one." : "."));
			}
		}
		if (declared.handlers().isEmpty()) {
			throw new PgBusException(listener + " has @PgEventListener, but no method with @PgEventHandler. "
					+ "Annotate its methods, or move @PgEventListener to a method.");
		}
		return new TypeRouter(listener, Map.copyOf(methods), defaultMethod);
	}

	private String typeOf(ListenerMethod method) {
		Class<?> payload = method.payloadClass();
		if (payload == null) {
			throw new PgBusException(method.description() + " has no parameter whose class tells which events it is "
					+ "for. Add one, or set isDefault = true.");
		}
		if (payload == TableChange.class) {
			throw new PgBusException(method.description() + " takes a TableChange, whose operation is the type of its "
					+ "event. Set isDefault = true, or annotate the method with @PgEventListener instead.");
		}
		String name = this.names.resolve(payload);
		// The simple name that events are published under is the one of a concrete class.
		if (Modifier.isAbstract(payload.getModifiers()) && name.equals(payload.getSimpleName())
				&& !AnnotatedElementUtils.hasAnnotation(payload, EventType.class)) {
			throw new PgBusException(method.description() + " has a payload of type " + payload.getName()
					+ ", which is abstract, so that no event is published under its name. Annotate that with "
					+ "@EventType, take a concrete class, or set isDefault = true.");
		}
		return name;
	}

}
