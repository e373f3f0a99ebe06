package io.pgbus.annotation;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.Collection;
import java.util.List;

import io.pgbus.Event;
import io.pgbus.PgBusException;

import org.springframework.core.GenericTypeResolver;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.util.StringUtils;

/**
 * A parameter that carries the payload, or for a batch the payloads.
 *
 * @param parameter the parameter
 * @param carrier what the payload comes in
 * @param type the type of the payload
 * @param list whether it takes lists
 */
record PayloadParameter(MethodParameter parameter, Carrier carrier, Type type, boolean list) {

	/** What the payload comes in. */
	enum Carrier {

		PAYLOAD, EVENT, MESSAGE

	}

	/**
	 * Reads the signature.
	 * @param listener names the method in messages
	 */
	static PayloadParameter of(MethodParameter parameter, Class<?> beanType, boolean batch, String listener) {
		Payload annotation = parameter.getParameterAnnotation(Payload.class);
		if (annotation != null && StringUtils.hasText(annotation.expression())) {
			throw new PgBusException(listener + " has an expression in @Payload, which is not supported. "
					+ "Take the whole payload and read from it.");
		}
		Type type = bound(GenericTypeResolver.resolveType(parameter.getGenericParameterType(), beanType));
		if (batch) {
			Class<?> list = rawClass(type);
			if (list != List.class && list != Collection.class) {
				throw new PgBusException(listener + " has batch = \"true\" and a parameter of type "
						+ type.getTypeName() + ". Take a List of payloads, of Event or of Message instead.");
			}
			type = argument(type);
		}
		else if (Collection.class.isAssignableFrom(rawClass(type))
				&& carrier(rawClass(argument(type))) != Carrier.PAYLOAD) {
			throw new PgBusException(listener + " takes a list of events, but not batches. Set batch = \"true\", "
					+ "or take a single event.");
		}
		Carrier carrier = carrier(rawClass(type));
		return new PayloadParameter(parameter, carrier, (carrier != Carrier.PAYLOAD) ? argument(type) : type, batch);
	}

	/** Whether the type says nothing about the payload. */
	boolean takesAnything() {
		return this.type == Object.class;
	}

	Class<?> payloadClass() {
		return rawClass(this.type);
	}

	private static Carrier carrier(Class<?> type) {
		if (type == Event.class) {
			return Carrier.EVENT;
		}
		return (type == Message.class) ? Carrier.MESSAGE : Carrier.PAYLOAD;
	}

	private static Class<?> rawClass(Type type) {
		return ResolvableType.forType(type).resolve(Object.class);
	}

	private static Type argument(Type type) {
		return (type instanceof ParameterizedType parameterized) ? bound(parameterized.getActualTypeArguments()[0])
				: Object.class;
	}

	/** What a type that is left open is at least. */
	private static Type bound(Type type) {
		if (type instanceof WildcardType wildcard) {
			return wildcard.getUpperBounds()[0];
		}
		return (type instanceof TypeVariable<?> variable) ? bound(variable.getBounds()[0]) : type;
	}

}
