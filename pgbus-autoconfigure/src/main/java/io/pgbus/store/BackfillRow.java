package io.pgbus.store;

import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * A backfill as those who read its rows need to know it.
 *
 * @param id the id
 * @param schema the name of the table's schema
 * @param table the name of the table
 * @param stream the name of the stream of the table's changes
 * @param streamId this stream
 * @param partitions how many partitions it has
 * @param query what is read, or {@code null} for the whole table
 * @param filter the filter, or {@code null}
 * @param joinsLive whether it is kept which rows were read when
 * @param chunkRows the most rows of a read
 * @param chunkBytes the most bytes of a read
 * @param timeoutMillis the time that a read may take
 * @param plannedTo the primary key up to which chunks were made, or {@code null}
 */
record BackfillRow(int id, String schema, String table, String stream, int streamId, int partitions,
		@Nullable String query, @Nullable String filter, boolean joinsLive, int chunkRows, long chunkBytes,
		long timeoutMillis, @Nullable List<String> plannedTo) {

	/** Of a backfill b, whose stream is named stream. */
	static final String COLUMNS = """
			b.id as backfill_id, b.schema_name, b.table_name, stream.name as stream, b.stream_id, stream.partitions,
			b.query, b.filter, b.joins_live, least(b.chunk_rows, b.rows_per_second) as chunk_rows, b.chunk_bytes,
			(extract(epoch from b.timeout) * 1000)::bigint as timeout, b.planned_to""";

	static BackfillRow read(ResultSet row) throws SQLException {
		return new BackfillRow(row.getInt("backfill_id"), row.getString("schema_name"), row.getString("table_name"),
				row.getString("stream"), row.getInt("stream_id"), row.getInt("partitions"), row.getString("query"),
				row.getString("filter"), row.getBoolean("joins_live"), row.getInt("chunk_rows"),
				row.getLong("chunk_bytes"), row.getLong("timeout"), texts(row.getArray("planned_to")));
	}

	static @Nullable List<String> texts(@Nullable Array array) throws SQLException {
		return (array != null) ? List.of((String[]) array.getArray()) : null;
	}

	String qualifiedName() {
		return PublishedTable.qualifiedName(this.schema, this.table);
	}

}
