package io.pgbus.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

import io.pgbus.BackfillInfo;
import org.jspecify.annotations.Nullable;

/**
 * Tells how far backfills are.
 */
final class BackfillReports {

	private static final String SELECT = """
			select b.*, g.name as group_name,
				b.rows_read / nullif(extract(epoch from coalesce(b.finished_at, clock_timestamp()) - b.started_at), 0)
					as rate
			from {bus}.backfill b join {bus}.consumer_group g on g.id = b.group_id
			""";

	private static final String LIST = SELECT + "where g.name = :group order by b.id desc";

	private static final String FIND = SELECT + "where b.id = :id";

	private static final String UNFINISHED = SELECT
			+ "where b.state not in ('done', 'cancelled') order by b.id desc limit :limit";

	private final BusDatabase database;

	BackfillReports(BusDatabase database) {
		this.database = database;
	}

	Optional<BackfillInfo> find(long id) {
		return this.database.own(FIND).param("id", id).query(BackfillReports::info).optional();
	}

	/** Of a group, newest first. */
	List<BackfillInfo> list(String group) {
		return this.database.own(LIST).param("group", group).query(BackfillReports::info).list();
	}

	/** Of all groups, newest first. */
	List<BackfillInfo> unfinished(int limit) {
		return this.database.own(UNFINISHED).param("limit", limit).query(BackfillReports::info).list();
	}

	private static BackfillInfo info(ResultSet row, int index) throws SQLException {
		return new BackfillInfo(row.getLong("id"), row.getString("group_name"),
				PublishedTable.qualifiedName(row.getString("schema_name"), row.getString("table_name")),
				row.getString("name"), row.getString("query"),
				BackfillInfo.State.valueOf(row.getString("state").toUpperCase(Locale.ROOT)), row.getLong("rows_read"),
				row.getObject("estimated_rows", Long.class), row.getInt("chunks_done"),
				row.getObject("rate") != null ? row.getDouble("rate") : null, row.getString("error"),
				row.getObject("created_at", OffsetDateTime.class).toInstant(), instant(row, "started_at"),
				instant(row, "finished_at"));
	}

	private static @Nullable Instant instant(ResultSet row, String column) throws SQLException {
		OffsetDateTime time = row.getObject(column, OffsetDateTime.class);
		return (time != null) ? time.toInstant() : null;
	}

}
