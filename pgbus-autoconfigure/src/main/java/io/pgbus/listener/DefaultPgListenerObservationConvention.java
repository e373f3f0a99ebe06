package io.pgbus.listener;

import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;

import io.micrometer.common.KeyValues;
import io.pgbus.Event;
import io.pgbus.listener.PgListenerObservation.HighCardinality;
import io.pgbus.listener.PgListenerObservation.LowCardinality;
import org.jspecify.annotations.Nullable;

/**
 * The {@link PgListenerObservationConvention}, with the keys of
 * {@link PgListenerObservation}. Extend it to add to them.
 *
 * @since 0.1.0
 */
public class DefaultPgListenerObservationConvention implements PgListenerObservationConvention {

	private static final String SEVERAL = "several";

	private static final String ANY = "any";

	@Override
	public String getName() {
		return "pgbus.handle";
	}

	@Override
	public String getContextualName(EventReceiverContext context) {
		return first(context).stream() + " handle";
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(EventReceiverContext context) {
		return KeyValues.of(LowCardinality.STREAM.withValue(first(context).stream()),
				LowCardinality.GROUP.withValue(context.endpoint().group()),
				LowCardinality.LISTENER.withValue(context.endpoint().id()),
				LowCardinality.TYPE.withValue((context.endpoint().types() != null) ? type(context) : ANY),
				LowCardinality.OUTCOME.withValue(context.outcome().name().toLowerCase(Locale.ROOT)));
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(EventReceiverContext context) {
		KeyValues values = KeyValues.of(HighCardinality.EVENTS.withValue(String.valueOf(context.events().size())),
				HighCardinality.EVENT_ID.withValue(HandlerScope.idsOf(context.events(), Event::id)),
				HighCardinality.EVENT_TYPE.withValue(type(context)),
				HighCardinality.PARTITION.withValue(String.valueOf(first(context).partition())),
				HighCardinality.ATTEMPT.withValue(String.valueOf(first(context).attempt())));
		String key = shared(context, Event::key);
		return (key != null) ? values.and(HighCardinality.EVENT_KEY.withValue(key)) : values;
	}

	private static Event<String> first(EventReceiverContext context) {
		return context.events().get(0);
	}

	private static String type(EventReceiverContext context) {
		return Objects.requireNonNullElse(shared(context, Event::type), SEVERAL);
	}

	private static @Nullable String shared(EventReceiverContext context,
			Function<Event<String>, @Nullable String> property) {
		String first = property.apply(first(context));
		boolean all = context.events().stream().allMatch((event) -> Objects.equals(property.apply(event), first));
		return all ? first : SEVERAL;
	}

}
