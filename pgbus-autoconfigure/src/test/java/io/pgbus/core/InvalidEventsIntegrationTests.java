package io.pgbus.core;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.pgbus.EventPublisher;
import io.pgbus.InvalidEventException;
import io.pgbus.OutgoingEvent;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.core.json.JsonWriteFeature;
import tools.jackson.databind.json.JsonMapper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

/**
 * Events that cannot be published: refused before anything is written, so that the
 * caller's transaction can go on.
 */
class InvalidEventsIntegrationTests {

	private static final String HALF = "a\uD83D";

	private static TestPublisher bus;

	@BeforeAll
	static void createBus() {
		bus = new TestPublisher();
	}

	@AfterAll
	static void dropBus() {
		bus.close();
	}

	static Stream<Arguments> invalid() {
		Map<String, Object> loop = new HashMap<>();
		loop.put("self", loop);
		String tooLong = "😀".repeat(OutgoingEvent.MAX_NAME_LENGTH + 1);
		return Stream.of(invalid("null payload", "null", () -> to("s").payload(null)),
				invalid("payload that contains itself", "cannot be written as JSON", () -> to("s").payload(loop)),
				invalid("payload whose getter throws", "I am broken", () -> to("s").payload(new Broken())),
				invalid("NUL in the payload", "\\u0000", () -> to("s").payload(Map.of("a", "x\0"))),
				invalid("NUL in a name in the payload", "\\u0000", () -> to("s").payload(Map.of("\0", 1))),
				invalid("half a pair in the payload", "surrogate", () -> to("s").payload(HALF)),
				invalid("the other half in the payload", "surrogate", () -> to("s").payload("\uDE00a")),
				invalid("pair the wrong way round", "surrogate", () -> to("s").payload("\uDE00\uD83D")),
				invalid("payload above the limit", "pgbus.publisher.max-payload",
						() -> to("s").payload("x".repeat(16 * 1024 * 1024 - 1))),
				invalid("null stream", "stream", () -> to(null).payload(1)),
				invalid("blank stream", "stream", () -> to(" \t\n").payload(1)),
				invalid("long stream", "stream", () -> to(tooLong).payload(1)),
				invalid("NUL in the stream", "stream", () -> to("a\0").payload(1)),
				invalid("half a pair in the stream", "surrogate", () -> to(HALF).payload(1)),
				invalid("blank key", "key", () -> to("s").key("").payload(1)),
				invalid("long key", "key", () -> to("s").key("k".repeat(1001)).payload(1)),
				invalid("key of too many bytes", "2000 bytes", () -> to("s").key("😀".repeat(501)).payload(1)),
				invalid("NUL in the key", "key", () -> to("s").key("\0").payload(1)),
				invalid("half a pair in the key", "surrogate", () -> to("s").key(HALF).payload(1)),
				invalid("blank type", "type", () -> to("s").type(" ").payload(1)),
				invalid("long type", "type", () -> to("s").type(tooLong).payload(1)),
				invalid("NUL in the type", "type", () -> to("s").type("a\0").payload(1)),
				invalid("payload of an anonymous class", "@EventType", () -> to("s").payload(new Object() {
					public final int a = 1;

				})), invalid("blank header", "header", () -> to("s").header("", "x").payload(1)),
				invalid("null header", "header \"h\"", () -> to("s").header("h", null).payload(1)),
				invalid("NUL in a header", "header \"h\"", () -> to("s").header("h", "\0").payload(1)),
				invalid("half a pair in a header", "header \"h\"", () -> to("s").header("h", HALF).payload(1)));
	}

	private static Arguments invalid(String what, String reason, Supplier<OutgoingEvent> event) {
		return arguments(what, reason, event);
	}

	private static OutgoingEvent.Builder to(String stream) {
		return OutgoingEvent.to(stream);
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("invalid")
	void isRefusedAndTheCallersTransactionGoesOn(String what, String reason, Supplier<OutgoingEvent> event) {
		EventPublisher publisher = bus.publisher;
		bus.transaction().executeWithoutResult((status) -> {
			publisher.publish("before", what);
			assertThatThrownBy(() -> publisher.publish(event.get())).isInstanceOf(InvalidEventException.class)
				.hasMessageContaining(reason);
			assertThatThrownBy(() -> publisher.publishAll(List.of(to("s").payload(1), event.get())))
				.isInstanceOf(InvalidEventException.class)
				.hasMessageContaining(reason);
			publisher.publish("after", what);
		});
		assertThat(bus.count("s")).isZero();
		assertThat(bus.jdbc.sql("select count(*) from pgbus.event where payload = to_jsonb(?::text)")
			.param(what)
			.query(Long.class)
			.single()).isEqualTo(2);
	}

	@Test
	void escapesAreReadAsWhatTheyStandFor() {
		EventConverter converter = new EventConverter(
				JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build());
		assertThat(converter.write("😀\\u0000\n")).isEqualTo("\"\\uD83D\\uDE00\\\\u0000\\n\"");
		assertThatThrownBy(() -> converter.write(HALF + "x")).hasMessageContaining("surrogate");
		assertThatThrownBy(() -> converter.write("\\\0")).hasMessageContaining("\\u0000");
		assertThatCode(() -> converter.write("\\\\u0000 \uD7FF\uE000")).doesNotThrowAnyException();
	}

	static class Broken {

		public String getName() {
			throw new IllegalStateException("I am broken");
		}

	}

}
