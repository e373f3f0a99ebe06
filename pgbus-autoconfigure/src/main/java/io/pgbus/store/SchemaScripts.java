package io.pgbus.store;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

import org.flywaydb.core.api.ResourceProvider;
import org.flywaydb.core.api.resource.LoadableResource;
import org.jspecify.annotations.Nullable;

import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;

/**
 * The scripts that make the schema. Flyway takes them from here, since it cannot find
 * them by itself in a native image.
 */
final class SchemaScripts implements ResourceProvider {

	static final String LOCATION = "io/pgbus/store/schema";

	private static final ClassLoader classLoader = Objects.requireNonNull(SchemaScripts.class.getClassLoader());

	/** The file names, in no order. */
	static List<String> names() {
		try {
			return Arrays
				.stream(new PathMatchingResourcePatternResolver(classLoader)
					.getResources("classpath:" + LOCATION + "/V*.sql"))
				.map((script) -> Objects.requireNonNull(script.getFilename()))
				.toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** The version of the schema that a script leads to. */
	static int versionOf(String name) {
		return Integer.parseInt(name.substring(1, name.indexOf("__")));
	}

	/** Flyway asks for what a script may have beside it, which none has. */
	@Override
	public @Nullable LoadableResource getResource(String name) {
		return null;
	}

	@Override
	public Collection<LoadableResource> getResources(String prefix, String[] suffixes) {
		return names().stream()
			.filter((name) -> name.startsWith(prefix) && Arrays.stream(suffixes).anyMatch(name::endsWith))
			.<LoadableResource>map(Script::new)
			.toList();
	}

	/**
	 * A script, as Flyway knows it from its own search.
	 */
	private static final class Script extends LoadableResource {

		private final String name;

		Script(String name) {
			this.name = name;
		}

		@Override
		public Reader read() {
			try {
				return new InputStreamReader(new ClassPathResource(getAbsolutePath(), classLoader).getInputStream(),
						StandardCharsets.UTF_8);
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		@Override
		public String getAbsolutePath() {
			return LOCATION + "/" + this.name;
		}

		@Override
		public String getAbsolutePathOnDisk() {
			return getAbsolutePath();
		}

		@Override
		public String getFilename() {
			return this.name;
		}

		@Override
		public String getRelativePath() {
			return this.name;
		}

	}

}
