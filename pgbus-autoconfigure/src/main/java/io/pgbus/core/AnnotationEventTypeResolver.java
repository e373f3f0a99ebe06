package io.pgbus.core;

import io.pgbus.EventType;
import io.pgbus.EventTypeResolver;
import io.pgbus.InvalidEventException;

import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;

/**
 * Takes the type name from {@link EventType}, or else the simple name of the class.
 *
 * @since 0.1.0
 */
public class AnnotationEventTypeResolver implements EventTypeResolver {

	@Override
	public String resolve(Class<?> payloadType) {
		Class<?> type = ClassUtils.getUserClass(payloadType);
		EventType annotation = AnnotatedElementUtils.findMergedAnnotation(type, EventType.class);
		String name = (annotation != null) ? annotation.value() : type.getSimpleName();
		if (name.isBlank()) {
			throw new InvalidEventException("The class " + type.getName()
					+ " gives no type name. Annotate it with @EventType, or set the event's type.");
		}
		return name;
	}

}
