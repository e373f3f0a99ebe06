package io.pgbus.actuate;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;

/**
 * The meters of one name, which differ in the values of their tags. To look one up here
 * costs less than in the registry.
 *
 * @param <M> the kind of meter
 */
final class Meters<M> {

	private final String[] tags;

	private final Function<Tags, M> register;

	private final Map<List<String>, M> meters = new ConcurrentHashMap<>();

	private Meters(String[] tags, Function<Tags, M> register) {
		this.tags = tags;
		this.register = register;
	}

	static Meters<Counter> counters(MeterRegistry registry, String name, String description, String... tags) {
		return new Meters<>(tags,
				(values) -> Counter.builder(name).description(description).tags(values).register(registry));
	}

	static Meters<Timer> timers(MeterRegistry registry, String name, String description, String... tags) {
		return new Meters<>(tags,
				(values) -> Timer.builder(name).description(description).tags(values).register(registry));
	}

	/** The value of a tag for a constant. */
	static String value(Enum<?> constant) {
		return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
	}

	M of(String... values) {
		return this.meters.computeIfAbsent(List.of(values), this::register);
	}

	private M register(List<String> values) {
		Tags named = Tags.empty();
		for (int i = 0; i < this.tags.length; i++) {
			named = named.and(this.tags[i], values.get(i));
		}
		return this.register.apply(named);
	}

}
