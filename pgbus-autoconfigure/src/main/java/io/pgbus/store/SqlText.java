package io.pgbus.store;

/**
 * Finds the parts of SQL text in which characters do not mean what they seem to.
 */
final class SqlText {

	private SqlText() {
	}

	/**
	 * Checks that text which is to stand between parentheses stays inside them, and
	 * doubles or escapes what a JDBC driver or Spring would take for a parameter.
	 * @param what what the text is, for people
	 * @param text the text
	 * @param named whether the statement's parameters have names
	 * @return the text to put into a statement
	 * @throws IllegalArgumentException if it closes what it did not open, or the
	 * statement
	 */
	static String asOnePart(String what, String text, boolean named) {
		StringBuilder part = new StringBuilder();
		int depth = 0;
		int i = 0;
		while (i < text.length()) {
			int end = endOfQuotedOrComment(text, i);
			if (end > i) {
				part.append(text, i, end);
				i = end;
				continue;
			}
			char c = text.charAt(i);
			depth += (c == '(') ? 1 : (c == ')') ? -1 : 0;
			if (c == ';' || c == '\0' || depth < 0) {
				throw new IllegalArgumentException("The " + what + " [" + text + "] is no single SQL expression: \""
						+ ((c == '\0') ? "\\u0000" : c) + "\" at " + i + ".");
			}
			if (text.startsWith("::", i)) {
				part.append("::");
				i++;
			}
			else {
				part.append((c == '?') ? "??" : (c == ':' && named) ? "\\:" : String.valueOf(c));
			}
			i++;
		}
		if (depth != 0 || text.isBlank()) {
			throw new IllegalArgumentException(
					"The " + what + " [" + text + "] is no single SQL expression: it is blank or a \")\" is missing.");
		}
		return part.toString();
	}

	/**
	 * Returns where a literal, quoted name or comment that begins here ends.
	 * @param sql the text
	 * @param start the place to look at
	 * @return the index behind it, or {@code start} if none begins here
	 * @throws IllegalArgumentException if it does not end
	 */
	static int endOfQuotedOrComment(String sql, int start) {
		char c = sql.charAt(start);
		if (c == '\'' || c == '"') {
			boolean escapes = c == '\'' && start > 0 && (sql.charAt(start - 1) == 'e' || sql.charAt(start - 1) == 'E');
			return endOfQuoted(sql, start, c, escapes);
		}
		if (sql.startsWith("--", start)) {
			int newline = sql.indexOf('\n', start);
			return (newline >= 0) ? newline : sql.length();
		}
		if (sql.startsWith("/*", start)) {
			return behind(sql, "*/", start + 2, start);
		}
		if (c == '$' && (start == 0 || !Character.isJavaIdentifierPart(sql.charAt(start - 1)))) {
			int tagEnd = sql.indexOf('$', start + 1);
			if (tagEnd > 0 && sql.substring(start + 1, tagEnd).matches("([A-Za-z_]\\w*)?")) {
				String tag = sql.substring(start, tagEnd + 1);
				return behind(sql, tag, tagEnd + 1, start);
			}
		}
		return start;
	}

	private static int endOfQuoted(String sql, int start, char quote, boolean escapes) {
		int i = start + 1;
		while (i < sql.length()) {
			char c = sql.charAt(i);
			if (escapes && c == '\\') {
				i += 2;
			}
			else if (c != quote) {
				i++;
			}
			else if (i + 1 < sql.length() && sql.charAt(i + 1) == quote) {
				i += 2;
			}
			else {
				return i + 1;
			}
		}
		throw unended(sql, start);
	}

	private static int behind(String sql, String end, int from, int start) {
		int index = sql.indexOf(end, from);
		if (index < 0) {
			throw unended(sql, start);
		}
		return index + end.length();
	}

	private static IllegalArgumentException unended(String sql, int start) {
		return new IllegalArgumentException("In [" + sql + "] what begins at " + start + " does not end.");
	}

}
