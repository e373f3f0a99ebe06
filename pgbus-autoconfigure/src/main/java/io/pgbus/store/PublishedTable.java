package io.pgbus.store;

/**
 * A table whose changes are in the stream of changes, or will be.
 *
 * @param id the table's oid
 * @param schema the name of its schema, as it is without quotes
 * @param name the name of the table, as it is without quotes
 * @param wholeRows whether old rows come whole: the replica identity is full, of a
 * partitioned table also that of all its partitions
 * @since 0.1.0
 */
public record PublishedTable(int id, String schema, String name, boolean wholeRows) {

	private static final String STREAM_PREFIX = "table:";

	/**
	 * Returns the name with the schema, the same for a table in every place where the bus
	 * names it. A part has quotes only if it has a dot or a quote in it.
	 * @return the name
	 */
	public String qualifiedName() {
		return qualifiedName(this.schema, this.name);
	}

	/**
	 * Returns the name of the stream that has the table's changes.
	 * @return the name
	 */
	public String stream() {
		return STREAM_PREFIX + qualifiedName();
	}

	/**
	 * Tells whether a stream has the changes of a table.
	 * @param stream the name of the stream
	 * @return whether it has
	 */
	public static boolean isStreamOfTable(String stream) {
		return stream.startsWith(STREAM_PREFIX);
	}

	/**
	 * Returns the table whose changes a stream has.
	 * @param stream the name of the stream of a table
	 * @return the name with the schema, as {@link #qualifiedName()} has it
	 */
	public static String qualifiedNameOf(String stream) {
		return stream.substring(STREAM_PREFIX.length());
	}

	static String qualifiedName(String schema, String name) {
		return part(schema) + '.' + part(name);
	}

	private static String part(String name) {
		boolean isPlain = name.indexOf('.') < 0 && name.indexOf('"') < 0;
		return isPlain ? name : '"' + name.replace("\"", "\"\"") + '"';
	}

}
