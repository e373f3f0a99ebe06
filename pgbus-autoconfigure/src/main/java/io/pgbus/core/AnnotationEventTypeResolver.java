package io.pgbus.core;

import java.util.List;
import java.util.Map;
import java.util.Set;

import io.pgbus.EventType;
import io.pgbus.EventTypeResolver;
import io.pgbus.InvalidEventException;
import tools.jackson.databind.JsonNode;

import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;

/**
 * Takes the type name from {@link EventType}, or else the simple name of the class. What
 * the JDK or Jackson made of a general payload, a {@code MapN} or an {@code ObjectNode},
 * has the name of what it was made as, which is what a listener's parameter says.
 *
 * @since 0.1.0
 */
public class AnnotationEventTypeResolver implements EventTypeResolver {

	private static final List<Class<?>> GENERAL = List.of(Map.class, List.class, Set.class, JsonNode.class);

	@Override
	public String resolve(Class<?> payloadType) {
		Class<?> type = ClassUtils.getUserClass(payloadType);
		EventType annotation = AnnotatedElementUtils.findMergedAnnotation(type, EventType.class);
		String name = (annotation != null) ? annotation.value() : general(type).getSimpleName();
		if (name.isBlank()) {
			throw new InvalidEventException("The class " + type.getName()
					+ " gives no type name. Annotate it with @EventType, or set the event's type.");
		}
		return name;
	}

	private static Class<?> general(Class<?> type) {
		boolean isLibrarys = type.getName().startsWith("java.util.") || type.getName().startsWith("tools.jackson.");
		return isLibrarys ? GENERAL.stream().filter((each) -> each.isAssignableFrom(type)).findFirst().orElse(type)
				: type;
	}

}
