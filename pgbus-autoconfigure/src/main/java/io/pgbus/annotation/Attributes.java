package io.pgbus.annotation;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;

import io.pgbus.PgBusException;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.BeanExpressionContext;
import org.springframework.beans.factory.config.BeanExpressionResolver;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.util.ObjectUtils;
import org.springframework.util.StringUtils;

/**
 * Reads the attributes of one annotation: resolves placeholders and expressions and
 * parses what comes out. {@code null} stands for an attribute that is left empty.
 */
final class Attributes {

	private static final String BEAN_VARIABLE = "__listener";

	private final ConfigurableBeanFactory beanFactory;

	private final Object bean;

	private final String listener;

	Attributes(ConfigurableBeanFactory beanFactory, Object bean, String listener) {
		this.beanFactory = beanFactory;
		this.bean = bean;
		this.listener = listener;
	}

	@Nullable String text(String name, String raw) {
		return read(name, raw, String.class, Function.identity(), "text");
	}

	@Nullable Integer integer(String name, String raw) {
		return read(name, raw, Integer.class, Integer::valueOf, "a whole number");
	}

	@Nullable Double decimal(String name, String raw) {
		return read(name, raw, Double.class, Double::valueOf, "a number");
	}

	@Nullable Duration duration(String name, String raw) {
		return read(name, raw, Duration.class, DurationFormatterUtils::detectAndParse,
				"a duration such as 500ms, 2s or PT2S");
	}

	boolean flag(String name, String raw, boolean defaultValue) {
		Boolean value = read(name, raw, Boolean.class, (text) -> switch (text.toLowerCase(Locale.ROOT)) {
			case "true" -> true;
			case "false" -> false;
			default -> throw new IllegalArgumentException("Neither true nor false");
		}, "true or false");
		return (value != null) ? value : defaultValue;
	}

	<E extends Enum<E>> @Nullable E choice(String name, String raw, Class<E> type) {
		return read(name, raw, type, (text) -> Enum.valueOf(type, text.replace('-', '_').toUpperCase(Locale.ROOT)),
				"one of " + StringUtils.arrayToDelimitedString(type.getEnumConstants(), ", "));
	}

	/**
	 * Reads an attribute of any type.
	 * @param expected what the value must be, for the message if it is not
	 */
	<T> @Nullable T read(String name, String raw, Class<T> type, Function<String, T> parser, String expected) {
		Object value = value(name, raw);
		if (value == null || type.isInstance(value)) {
			return type.cast(value);
		}
		String text = value.toString().trim();
		if (text.isEmpty()) {
			return null;
		}
		try {
			return parser.apply(text);
		}
		catch (RuntimeException ex) {
			throw new PgBusException(
					this.listener + " has " + name + " = \"" + text + "\", which must be " + expected + ".", ex);
		}
	}

	/** Reads an attribute whose entries may stand for several names. */
	List<String> names(String name, String[] raw) {
		List<String> names = new ArrayList<>();
		for (String entry : raw) {
			Object value = value(name, entry);
			if (value instanceof String text && entry.contains("${")) {
				// a property has no other way to be a list; a name may have commas
				names.addAll(List.of(StringUtils.tokenizeToStringArray(text, ",")));
			}
			else if (value instanceof Collection<?> collection) {
				collection.forEach((element) -> names.add(Objects.toString(element, "")));
			}
			else if (value != null && value.getClass().isArray()) {
				List.of(ObjectUtils.toObjectArray(value)).forEach((element) -> names.add(element.toString()));
			}
			else if (value != null) {
				names.add(value.toString());
			}
		}
		return names;
	}

	private @Nullable Object value(String name, String raw) {
		try {
			String resolved = this.beanFactory.resolveEmbeddedValue(raw);
			if (raw.equals(resolved) && raw.contains("${")) {
				// Without a strict placeholder configurer, contexts leave these as they
				// are.
				throw new IllegalArgumentException("No property has this name");
			}
			BeanExpressionResolver expressions = this.beanFactory.getBeanExpressionResolver();
			Object value = (expressions != null) ? expressions.evaluate(resolved, new ListenerContext()) : resolved;
			return "".equals(value) ? null : value;
		}
		catch (RuntimeException ex) {
			throw new PgBusException(
					this.listener + " has " + name + " = \"" + raw + "\", which cannot be resolved: " + ex.getMessage(),
					ex);
		}
	}

	/** Lets expressions name the bean, as those of other listener annotations do. */
	private final class ListenerContext extends BeanExpressionContext {

		ListenerContext() {
			super(Attributes.this.beanFactory, null);
		}

		@Override
		public boolean containsObject(String key) {
			return BEAN_VARIABLE.equals(key) || super.containsObject(key);
		}

		@Override
		public @Nullable Object getObject(String key) {
			return BEAN_VARIABLE.equals(key) ? Attributes.this.bean : super.getObject(key);
		}

		@Override
		public boolean equals(@Nullable Object other) {
			return this == other;
		}

		@Override
		public int hashCode() {
			return System.identityHashCode(this);
		}

	}

}
