package io.pgbus.core;

import java.util.List;
import java.util.Objects;
import java.util.function.Function;

import io.micrometer.common.KeyValues;
import io.pgbus.OutgoingEvent;
import io.pgbus.core.EventPublisherObservation.HighCardinality;
import io.pgbus.core.EventPublisherObservation.LowCardinality;
import org.jspecify.annotations.Nullable;

/**
 * The {@link EventPublisherObservationConvention}, with the keys of
 * {@link EventPublisherObservation}. Extend it to add to them.
 *
 * @since 0.1.0
 */
public class DefaultEventPublisherObservationConvention implements EventPublisherObservationConvention {

	/** In the place of a value that the events of a call do not share. */
	static final String SEVERAL = "several";

	@Override
	public String getName() {
		return "pgbus.publish";
	}

	@Override
	public String getContextualName(EventSenderContext context) {
		return stream(context) + " publish";
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(EventSenderContext context) {
		return KeyValues.of(LowCardinality.STREAM.withValue(stream(context)),
				LowCardinality.OUTCOME.withValue(outcome(context)));
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(EventSenderContext context) {
		KeyValues values = KeyValues.of(HighCardinality.EVENTS.withValue(String.valueOf(context.events().size())));
		List<Long> ids = context.eventIds();
		if (!ids.isEmpty()) {
			values = values.and(HighCardinality.EVENT_ID
				.withValue((ids.size() == 1) ? ids.get(0).toString() : ids.get(0) + ".." + ids.get(ids.size() - 1)));
		}
		values = with(values, HighCardinality.EVENT_KEY, shared(context, OutgoingEvent::key));
		return with(values, HighCardinality.EVENT_TYPE, shared(context, OutgoingEvent::type));
	}

	private static KeyValues with(KeyValues values, HighCardinality key, @Nullable String value) {
		return (value != null) ? values.and(key.withValue(value)) : values;
	}

	private static String stream(EventSenderContext context) {
		return Objects.requireNonNullElse(shared(context, OutgoingEvent::stream), SEVERAL);
	}

	private static String outcome(EventSenderContext context) {
		if (context.getError() != null) {
			return "failure";
		}
		return context.eventIds().isEmpty() ? "unknown" : "success";
	}

	private static @Nullable String shared(EventSenderContext context,
			Function<OutgoingEvent, @Nullable String> property) {
		String first = property.apply(context.events().get(0));
		boolean all = context.events().stream().allMatch((event) -> Objects.equals(property.apply(event), first));
		return all ? first : SEVERAL;
	}

}
