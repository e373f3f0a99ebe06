package io.pgbus.annotation;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.List;
import java.util.concurrent.CompletionStage;

import io.pgbus.BatchListenerFailedException;
import io.pgbus.Event;
import io.pgbus.TableChange;
import io.pgbus.UnreadableEventException;
import io.pgbus.core.EventConverter;
import io.pgbus.listener.EventHandler;
import org.jspecify.annotations.Nullable;

import org.springframework.core.ResolvableType;

/**
 * Calls a method with events.
 *
 * @param bean the bean, as other beans see it
 * @param method the method, which the bean's class has
 * @param description names the method in messages
 * @param arguments make the arguments
 * @param payloadType the type of the payload, or {@code null} if no parameter says
 * @param acknowledged whether the method acknowledges the events itself
 * @param staged whether the method returns a stage
 * @param converter reads payloads
 */
record ListenerMethod(Object bean, Method method, String description, List<Argument> arguments,
		@Nullable Type payloadType, boolean acknowledged, boolean staged,
		EventConverter converter) implements EventHandler {

	/** The class of the payload, or {@code null} if no parameter says. */
	@Nullable Class<?> payloadClass() {
		return (this.payloadType != null) ? ResolvableType.forType(this.payloadType).resolve(Object.class) : null;
	}

	/** The class of rows if the payload is the change of a table, or {@code null}. */
	@Nullable Class<?> rowClass() {
		return (payloadClass() == TableChange.class)
				? ResolvableType.forType(this.payloadType).getGeneric(0).resolve(Object.class) : null;
	}

	boolean asynchronous() {
		return this.acknowledged || this.staged;
	}

	@Override
	public @Nullable CompletionStage<?> handle(List<Event<Object>> events) throws Exception {
		ListenerAcknowledgment acknowledgment = new ListenerAcknowledgment();
		@Nullable Object[] arguments = arguments(new Delivery(events, this.converter, acknowledgment));
		Object result = invoke(arguments);
		if (this.acknowledged) {
			return acknowledgment.stage();
		}
		return (result instanceof CompletionStage<?> stage) ? stage : null;
	}

	private @Nullable Object[] arguments(Delivery delivery) {
		@Nullable Object[] values = new Object[this.arguments.size()];
		for (int i = 0; i < values.length; i++) {
			try {
				values[i] = this.arguments.get(i).resolve(delivery);
			}
			catch (UnreadableEventException | BatchListenerFailedException ex) {
				throw ex;
			}
			catch (Exception ex) {
				// a header that is missing or does not fit; no later attempt will find
				// another
				throw new UnreadableEventException("Event " + delivery.events().get(0).id() + " does not fit parameter "
						+ (i + 1) + " of " + this.description + ": " + ex.getMessage(), ex);
			}
		}
		return values;
	}

	private @Nullable Object invoke(@Nullable Object[] arguments) throws Exception {
		try {
			return this.method.invoke(this.bean, arguments);
		}
		catch (InvocationTargetException ex) {
			Throwable failure = ex.getTargetException();
			if (failure instanceof Error error) {
				throw error;
			}
			throw (failure instanceof Exception exception) ? exception : ex;
		}
	}

}
