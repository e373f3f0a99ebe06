package io.pgbus.annotation;

import io.pgbus.Event;
import org.jspecify.annotations.Nullable;

import org.springframework.core.MethodParameter;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.messaging.support.MessageBuilder;

/**
 * Makes the argument for one parameter of a listener method.
 */
@FunctionalInterface
interface Argument {

	@Nullable Object resolve(Delivery delivery) throws Exception;

	/** An argument that is made from the headers of a single event. */
	static Argument ofHeaders(MethodParameter parameter, HandlerMethodArgumentResolver resolver) {
		return (delivery) -> {
			Event<?> event = delivery.events().get(0);
			// The id in place of the payload: exceptions print their message.
			return resolver.resolveArgument(parameter,
					MessageBuilder.createMessage(event.id(), new EventHeaders(event)));
		};
	}

}
