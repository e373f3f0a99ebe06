package io.pgbus.autoconfigure;

import java.beans.PropertyDescriptor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import io.pgbus.StartPosition;
import io.pgbus.autoconfigure.ConfigurationMetadata.Property;
import org.junit.jupiter.api.Test;

import org.springframework.beans.BeanWrapper;
import org.springframework.beans.BeanWrapperImpl;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.util.StringUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

/**
 * What IDEs and the documentation know of the properties.
 */
class ConfigurationMetadataTests {

	/** By prefix, the longest first. */
	private static final Map<String, Object> BEANS = new LinkedHashMap<>();
	static {
		BEANS.put("pgbus.endpoint", new PgBusEndpointProperties());
		BEANS.put("pgbus.metrics", new PgBusMetricsProperties());
		BEANS.put("pgbus", new PgBusProperties());
	}

	private final ConfigurationMetadata metadata = ConfigurationMetadata.read();

	/** Actuator's endpoints have others, which are its own. */
	private final List<Property> properties = this.metadata.properties()
		.stream()
		.filter((property) -> property.name().startsWith("pgbus."))
		.toList();

	@Test
	void everyPropertyIsKnownAndDescribed() {
		List<String> names = new ArrayList<>();
		BEANS.forEach((prefix, bean) -> collect(prefix, new BeanWrapperImpl(bean), names));
		assertThat(this.properties).extracting(Property::name).containsExactlyInAnyOrderElementsOf(names);
		assertThat(this.properties).allSatisfy(
				(property) -> assertThat(property.description()).as(property.name()).isNotBlank().endsWith("."));
	}

	@Test
	void defaultsAreThoseOfTheCode() {
		for (Property property : this.properties) {
			Object value = beanOf(property).getPropertyValue(path(property.name()));
			if (!(value instanceof Map || value instanceof Collection)) {
				Class<?> type = (value != null) ? value.getClass() : String.class;
				assertThat((Object) ApplicationConversionService.getSharedInstance()
					.convert(property.defaultValue(), type))
					.as(property.name()
							+ ": what the processor cannot see is in additional-spring-configuration-metadata.json")
					.isEqualTo(value);
			}
		}
	}

	@Test
	void valuesOfEnumsAreExplained() {
		for (Property property : this.properties) {
			Class<?> type = beanOf(property).getPropertyType(path(property.name()));
			if (type != null && type.isEnum()) {
				assertThat(this.metadata.hints(property.name())).as(property.name())
					.containsExactlyInAnyOrderElementsOf(
							Arrays.stream(type.getEnumConstants()).map(ConfigurationMetadataTests::kebab).toList());
			}
		}
		assertThat(this.metadata.hints("pgbus.listener.start")).containsExactly("latest", "earliest")
			.allSatisfy((value) -> assertThatCode(() -> StartPosition.parse(value)).doesNotThrowAnyException());
	}

	private static void collect(String prefix, BeanWrapper bean, List<String> names) {
		for (PropertyDescriptor property : bean.getPropertyDescriptors()) {
			if (isGroup(property.getPropertyType())) {
				collect(prefix + "." + kebab(property.getName()),
						new BeanWrapperImpl(bean.getPropertyValue(property.getName())), names);
			}
			else if (!property.getName().equals("class")) {
				names.add(prefix + "." + kebab(property.getName()));
			}
		}
	}

	private static boolean isGroup(Class<?> type) {
		return type.getPackage() == PgBusProperties.class.getPackage() && !type.isEnum();
	}

	/** From pgbus.listener.dead-letter.on-dead to listener.deadLetter.onDead. */
	private static String path(String name) {
		StringBuilder path = new StringBuilder();
		for (String word : name.substring(prefixOf(name).length() + 1).split("-")) {
			path.append(path.isEmpty() ? word : StringUtils.capitalize(word));
		}
		return path.toString();
	}

	private static BeanWrapper beanOf(Property property) {
		return new BeanWrapperImpl(BEANS.get(prefixOf(property.name())));
	}

	private static String prefixOf(String name) {
		return BEANS.keySet().stream().filter((prefix) -> name.startsWith(prefix + ".")).findFirst().orElseThrow();
	}

	private static String kebab(Object name) {
		return name.toString().replaceAll("([a-z])([A-Z])", "$1-$2").replace('_', '-').toLowerCase(Locale.ROOT);
	}

}
