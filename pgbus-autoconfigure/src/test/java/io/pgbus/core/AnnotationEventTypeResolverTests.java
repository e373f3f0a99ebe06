package io.pgbus.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import io.pgbus.EventType;
import io.pgbus.InvalidEventException;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.node.JsonNodeFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class AnnotationEventTypeResolverTests {

	private final AnnotationEventTypeResolver resolver = new AnnotationEventTypeResolver();

	@Test
	void annotationNamesTheType() {
		assertThat(this.resolver.resolve(Annotated.class)).isEqualTo("order.placed");
	}

	@Test
	void subclassHasTheNameOfTheAnnotatedClass() {
		assertThat(this.resolver.resolve(new Annotated() {
		}.getClass())).isEqualTo("order.placed");
	}

	@Test
	void classWithoutAnnotationIsNamedAfterItself() {
		assertThat(this.resolver.resolve(Plain.class)).isEqualTo("Plain");
		assertThat(this.resolver.resolve(OrderLines.class)).isEqualTo("OrderLines");
		assertThat(this.resolver.resolve(String.class)).isEqualTo("String");
	}

	@Test
	void generalPayloadIsNamedAfterWhatAListenerAsksFor() {
		assertThat(List.of(Map.of(), Map.of(1, 2), Map.of(1, 2, 3, 4), new TreeMap<>()))
			.extracting((map) -> this.resolver.resolve(map.getClass()))
			.containsOnly("Map");
		assertThat(this.resolver.resolve(List.of(1).getClass())).isEqualTo("List");
		assertThat(this.resolver.resolve(Set.of(1, 2, 3).getClass())).isEqualTo("Set");
		assertThat(this.resolver.resolve(JsonNodeFactory.instance.objectNode().getClass())).isEqualTo("JsonNode");
	}

	@Test
	void anonymousClassHasNoName() {
		Object anonymous = new Object() {
		};
		assertThatThrownBy(() -> this.resolver.resolve(anonymous.getClass())).isInstanceOf(InvalidEventException.class)
			.hasMessageContaining("@EventType");
	}

	@EventType("order.placed")
	static class Annotated {

	}

	static class Plain {

	}

	static class OrderLines extends ArrayList<String> {

		private static final long serialVersionUID = 1L;

	}

}
