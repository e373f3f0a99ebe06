package io.pgbus.annotation;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What the annotations of a class say.
 *
 * @param type the class
 * @param listeners the annotations of the class itself
 * @param methods the annotations of its methods
 * @param handlers the methods that are shared by the listeners of the class
 */
record ListenerClass(Class<?> type, List<DeclaredListener> listeners, Map<Method, List<DeclaredListener>> methods,
		Map<Method, PgEventHandler> handlers) {

	boolean isEmpty() {
		return this.listeners.isEmpty() && this.methods.isEmpty() && this.handlers.isEmpty();
	}

	/** Names a method in messages: as it is found in an editor. */
	String describe(Method method) {
		return this.type.getName() + "." + method.getName()
				+ Arrays.stream(method.getParameterTypes())
					.map(Class::getSimpleName)
					.collect(Collectors.joining(", ", "(", ")"));
	}

}
