package io.pgbus.autoconfigure;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The metadata of the bus's properties, as the build wrote it for IDEs.
 */
final class ConfigurationMetadata {

	private final JsonNode root;

	private ConfigurationMetadata(JsonNode root) {
		this.root = root;
	}

	/** Every jar has such a file: this is the one beside the properties' class. */
	static ConfigurationMetadata read() {
		try {
			Path classes = Path.of(PgBusProperties.class.getProtectionDomain().getCodeSource().getLocation().toURI());
			try (InputStream file = Files
				.newInputStream(classes.resolve("META-INF/spring-configuration-metadata.json"))) {
				return new ConfigurationMetadata(JsonMapper.builder().build().readTree(file));
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (URISyntaxException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/** All properties in the order of their names. */
	List<Property> properties() {
		return elements("properties")
			.map((property) -> new Property(text(property, "name"), text(property, "type"),
					text(property, "defaultValue"), text(property, "description")))
			.sorted((one, other) -> one.name().compareTo(other.name()))
			.toList();
	}

	/** The values that IDEs offer for a property. */
	List<String> hints(String name) {
		return elements("hints").filter((hint) -> name.equals(text(hint, "name")))
			.flatMap((hint) -> StreamSupport.stream(hint.path("values").spliterator(), false))
			.map((value) -> text(value, "value"))
			.toList();
	}

	private Stream<JsonNode> elements(String name) {
		return StreamSupport.stream(this.root.path(name).spliterator(), false);
	}

	private static @Nullable String text(JsonNode node, String field) {
		return node.path(field).isMissingNode() ? null : node.path(field).asString();
	}

	/** From deadLetter, and from HOLD_KEY, to what is written in a file. */
	static String kebab(Object name) {
		return name.toString().replaceAll("([a-z])([A-Z])", "$1-$2").replace('_', '-').toLowerCase(Locale.ROOT);
	}

	/**
	 * A property.
	 *
	 * @param name the name
	 * @param type the class
	 * @param defaultValue the default as text, or {@code null} if there is none
	 * @param description what it is for
	 */
	record Property(String name, String type, @Nullable String defaultValue, @Nullable String description) {

	}

}
