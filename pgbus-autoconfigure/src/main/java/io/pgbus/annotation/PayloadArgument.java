package io.pgbus.annotation;

import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;

import io.pgbus.Event;
import io.pgbus.UnreadableEventException;
import org.jspecify.annotations.Nullable;

import org.springframework.messaging.support.MessageBuilder;

/**
 * Makes an argument that carries the payload, or for a batch the payloads.
 *
 * @param parameter the parameter
 * @param type what payloads are read as
 * @param validation validates payloads, or {@code null}
 */
record PayloadArgument(PayloadParameter parameter, Type type,
		@Nullable PayloadValidation validation) implements Argument {

	@Override
	public Object resolve(Delivery delivery) {
		List<Object> payloads = delivery.payloads(this.type);
		List<Object> arguments = new ArrayList<>(payloads.size());
		for (int i = 0; i < payloads.size(); i++) {
			try {
				arguments.add(carry(delivery.events().get(i), payloads.get(i)));
			}
			catch (UnreadableEventException ex) {
				throw delivery.unreadable(i, ex);
			}
		}
		return this.parameter.list() ? arguments : arguments.get(0);
	}

	private Object carry(Event<?> event, Object payload) {
		if (this.validation != null) {
			this.validation.validate(event, payload);
		}
		return switch (this.parameter.carrier()) {
			case PAYLOAD -> payload;
			case EVENT -> event.withPayload(payload);
			case MESSAGE -> MessageBuilder.createMessage(payload, new EventHeaders(event));
		};
	}

}
