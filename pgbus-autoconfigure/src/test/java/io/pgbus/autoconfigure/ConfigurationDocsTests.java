package io.pgbus.autoconfigure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

import io.pgbus.autoconfigure.ConfigurationMetadata.Property;
import org.junit.jupiter.api.Test;

import org.springframework.util.ClassUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The page of the properties is written from their metadata: {@code mvn -pl
 * pgbus-autoconfigure test -Dtest=ConfigurationDocsTests -Dpgbus.docs.write=true} writes
 * it anew.
 */
class ConfigurationDocsTests {

	private static final Path PAGE = Path.of("..", "docs", "configuration.md");

	private static final String BEGIN = "<!-- written by ConfigurationDocsTests: begin -->\n";

	private static final String END = "<!-- written by ConfigurationDocsTests: end -->\n";

	@Test
	void pageListsEveryPropertyAsItIs() throws IOException {
		String page = Files.readString(PAGE);
		int begin = page.indexOf(BEGIN) + BEGIN.length();
		int end = page.indexOf(END);
		String tables = tables(ConfigurationMetadata.read());
		if (Boolean.getBoolean("pgbus.docs.write")) {
			Files.writeString(PAGE, page.substring(0, begin) + tables + page.substring(end));
		}
		else {
			assertThat(page.substring(begin, end))
				.as("docs/configuration.md is out of date; -Dtest=ConfigurationDocsTests -Dpgbus.docs.write=true writes it anew")
				.isEqualTo(tables);
		}
	}

	/** A table for each group of properties. */
	private static String tables(ConfigurationMetadata metadata) {
		Map<String, List<Property>> groups = metadata.properties()
			.stream()
			.collect(Collectors.groupingBy((property) -> groupOf(property.name()), TreeMap::new, Collectors.toList()));
		StringBuilder tables = new StringBuilder();
		groups.forEach((group, members) -> {
			tables.append("\n## `").append(group).append("`\n\n| Property | Default | |\n|---|---|---|\n");
			members.forEach((property) -> tables.append("| `")
				.append(property.name())
				.append("` | ")
				.append((property.defaultValue() != null) ? "`" + property.defaultValue() + "`" : "")
				.append(" | ")
				.append(String.valueOf(property.description()).replace("|", "\\|"))
				.append(values(property))
				.append(" |\n"));
		});
		return tables.append('\n').toString();
	}

	private static String values(Property property) {
		Class<?> type = ClassUtils.isPresent(property.type(), null) ? ClassUtils.resolveClassName(property.type(), null)
				: Object.class;
		return !type.isEnum() ? ""
				: Arrays.stream(type.getEnumConstants())
					.map(ConfigurationMetadata::kebab)
					.collect(Collectors.joining("`, `", " Values: `", "`."));
	}

	private static String groupOf(String name) {
		int dot = name.lastIndexOf('.');
		return name.substring(0, dot);
	}

}
