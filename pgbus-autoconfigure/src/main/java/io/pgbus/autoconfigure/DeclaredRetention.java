package io.pgbus.autoconfigure;

import java.util.LinkedHashMap;
import java.util.Map;

import io.pgbus.PgBusException;
import io.pgbus.store.Retention;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.convert.DurationStyle;

/**
 * Reads how long the declared streams keep their events.
 */
final class DeclaredRetention {

	private DeclaredRetention() {
	}

	/** Those that say so. */
	static Map<String, Retention> of(Map<String, PgBusProperties.Stream> streams) {
		Map<String, Retention> declared = new LinkedHashMap<>();
		streams.forEach((name, stream) -> {
			String text = stream.getRetention();
			if (text != null && !text.isBlank()) {
				declared.put(name, parse(name, text.strip()));
			}
		});
		return declared;
	}

	private static Retention parse(String stream, String text) {
		if (text.equalsIgnoreCase("forever")) {
			return Retention.FOREVER;
		}
		if (text.equalsIgnoreCase("consumed")) {
			return Retention.CONSUMED;
		}
		Retention retention;
		try {
			retention = new Retention(DurationStyle.detectAndParse(text));
		}
		catch (IllegalArgumentException ex) {
			throw refused(stream, text, ex);
		}
		if (retention.equals(Retention.CONSUMED)) {
			throw refused(stream, text, null);
		}
		return retention;
	}

	private static PgBusException refused(String stream, String text, @Nullable Exception cause) {
		return new PgBusException("pgbus.streams." + stream + ".retention is \"" + text
				+ "\". It takes a duration that is greater than zero, such as 30d, or \"consumed\" or \"forever\".",
				cause);
	}

}
