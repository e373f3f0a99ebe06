package io.pgbus.core;

import org.jspecify.annotations.Nullable;

/**
 * Finds in JSON text what JSON and Java allow in a string, and PostgreSQL does not.
 */
final class JsonText {

	private static final int ESCAPE_LENGTH = 6;

	private JsonText() {
	}

	/**
	 * Looks for what cannot be stored.
	 * @param json the text of well-formed JSON
	 * @return what it has that cannot be stored, or {@code null} if it can
	 */
	static @Nullable String flawOf(String json) {
		boolean highBefore = false;
		int i = 0;
		while (i < json.length()) {
			char c = json.charAt(i);
			int length = 1;
			if (c == '\\') {
				boolean isCode = json.charAt(i + 1) == 'u';
				c = isCode ? (char) Integer.parseInt(json, i + 2, i + ESCAPE_LENGTH, 16) : 'x';
				length = isCode ? ESCAPE_LENGTH : 2;
			}
			if (c == '\0') {
				return "the character \\u0000";
			}
			if (highBefore != Character.isLowSurrogate(c)) {
				return "half of a surrogate pair";
			}
			highBefore = Character.isHighSurrogate(c);
			i += length;
		}
		return null;
	}

}
