package io.pgbus.store;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import io.pgbus.BackfillInfo;
import io.pgbus.BackfillRequest;
import io.pgbus.ListenedTable;
import io.pgbus.LiveChanges;
import io.pgbus.PgBusException;
import io.pgbus.TableBackfill;
import io.pgbus.TableOperation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts backfills, looks after them and tells how far they are. What reads their rows is
 * {@link ChunkStore}. Everything here runs apart from the caller's transaction.
 *
 * @since 0.1.0
 */
public final class BackfillStore {

	private static final Logger logger = LoggerFactory.getLogger(BackfillStore.class);

	/**
	 * A backfill b keeps its group from changes of its table: also while a run that was
	 * given up has rows at hand, which decide about the changes of these rows.
	 */
	static final String HOLDS = """
			b.holds_live and (
				b.state in ('waiting', 'running', 'paused', 'failed')
				or b.state = 'cancelled' and exists (
					select from {bus}.backfill_chunk k where k.backfill_id = b.id and k.state = 'open'
				)
			)""";

	private static final String EXISTS = """
			select exists (
				select from {bus}.backfill b
				where b.group_id = :groupId and b.schema_name = :schema and b.table_name = :table and b.name = :name
			)""";

	private static final String INSERT = """
			insert into {bus}.backfill (group_id, stream_id, schema_name, table_name, name, query, filter, state,
				joins_live, holds_live, chunk_rows, chunk_bytes, rows_per_second, timeout, estimated_rows)
			select :groupId, s.id, :schema, :table, :name, :query, :filter, 'waiting',
				:joinsLive, :holdsLive, :chunkRows, :chunkBytes, :rowsPerSecond::integer,
				make_interval(secs => :timeout), :estimatedRows::bigint
			from {bus}.stream s where s.name = :stream
			on conflict (group_id, schema_name, table_name, name) do nothing
			returning id
			""";

	private static final String SUBSCRIPTION = """
			select l.group_id, l.filter, l.operations from {bus}.table_listener l
			join {bus}.consumer_group g on g.id = l.group_id
			where g.name = :group and l.schema_name = :schema and l.table_name = :table
			""";

	private static final String GROUP_ID = "select id from {bus}.consumer_group where name = :group";

	private static final String PAUSE = """
			update {bus}.backfill set state = 'paused' where id = :id and state in ('waiting', 'running')
			""";

	/** One that has not begun waits again. */
	private static final String RESUME = """
			update {bus}.backfill set state = case when started_at is null then 'waiting' else 'running' end
			where id = :id and state = 'paused'
			""";

	private static final String CANCEL = """
			update {bus}.backfill set state = 'cancelled', finished_at = clock_timestamp()
			where id = :id and state in ('waiting', 'running', 'paused', 'failed')
			""";

	private static final String RESTART = """
			update {bus}.backfill
			set state = 'waiting', admitted = null, planned_to = null, planned = false, rows_read = 0, chunks_done = 0,
				next_chunk_at = clock_timestamp(), started_at = null, finished_at = null, error = null
			where id = :id
			""";

	/** One that is paused stays so, and waits when it is resumed. */
	private static final String RESTART_UNFINISHED = """
			update {bus}.backfill
			set state = case when state = 'paused' then state else 'waiting' end, admitted = null, planned_to = null,
				planned = false, rows_read = 0, chunks_done = 0, next_chunk_at = clock_timestamp(), started_at = null,
				error = null
			where joins_live and state in ('waiting', 'running', 'paused')
			returning id
			""";

	/** Rows that are being handled come to their end. */
	private static final String ABANDON = """
			update {bus}.backfill_chunk set abandoned = true where backfill_id = :id and state = 'open'
			""";

	private final BusDatabase database;

	private final BackfillSettings settings;

	private final BackfillReports reports;

	/**
	 * Creates the store.
	 * @param database the database
	 * @param settings how rows are read, where a request says nothing else
	 */
	public BackfillStore(BusDatabase database, BackfillSettings settings) {
		this.database = database;
		this.settings = settings;
		this.reports = new BackfillReports(database);
	}

	/**
	 * Finds the table of a listener that wants no changes of it, and so does not need it
	 * to be published.
	 * @param wanted the table and what is wanted
	 * @return the table
	 * @throws PgBusException if there is none
	 */
	public TableInterest find(ListenedTable wanted) {
		return new TableInterest(tables().find(wanted.name()), wanted);
	}

	/**
	 * Checks the backfill of a listener, if it has one. Nothing is changed.
	 * @param interest the table and what is wanted
	 * @throws PgBusException if the table has no primary key
	 * @throws IllegalArgumentException if PostgreSQL does not take the query, or it does
	 * not yield the primary key
	 */
	public void check(TableInterest interest) {
		TableBackfill backfill = interest.wanted().backfill();
		if (backfill != null) {
			query(interest.table(), backfill.query(), interest.wanted().filter());
		}
	}

	/**
	 * Starts the backfill of a listener, if it has one that was not started before, when
	 * the group has subscribed to the table.
	 * @param groupId the group
	 * @param interest the table and what is wanted
	 */
	public void declare(int groupId, TableInterest interest) {
		ListenedTable wanted = interest.wanted();
		TableBackfill backfill = wanted.backfill();
		PublishedTable table = interest.table();
		if (backfill == null || this.database.own(EXISTS)
			.param("groupId", groupId)
			.param("schema", table.schema())
			.param("table", table.name())
			.param("name", backfill.name())
			.query(Boolean.class)
			.single()) {
			return;
		}
		insert(groupId, table, new Order(backfill.name(), backfill.query(), wanted.filter(), wanted.wantsChanges(),
				backfill.liveChanges(), this.settings.rowsPerSecond()));
	}

	/**
	 * Starts a backfill.
	 * @param group the name of the group
	 * @param request what is wanted
	 * @return the backfill
	 * @see io.pgbus.BackfillOperations#start
	 */
	public BackfillInfo start(String group, BackfillRequest request) {
		PublishedTable table = tables().find(request.table());
		Listener listener = this.database.own(SUBSCRIPTION)
			.param("group", group)
			.param("schema", table.schema())
			.param("table", table.name())
			.query((row, index) -> new Listener(row.getInt("group_id"), row.getString("filter"),
					!Set.of((String[]) row.getArray("operations").getArray())
						.equals(Set.of(TableOperation.READ.name()))))
			.optional()
			.orElseThrow(() -> unknown(group, table));
		Integer rowsPerSecond = (request.rowsPerSecond() != null) ? request.rowsPerSecond()
				: this.settings.rowsPerSecond();
		String filter = (request.filter() != null) ? request.filter() : listener.filter();
		if (request.keys() != null) {
			filter = new BackfillKeys(this.database, tables().describe(table.schema(), table.name()))
				.condition(request.keys(), filter);
		}
		Integer id = insert(listener.groupId(), table, new Order(request.name(), request.query(), filter,
				listener.wantsChanges(), request.liveChanges(), rowsPerSecond));
		if (id == null) {
			throw new PgBusException("Group \"" + group + "\" has a backfill \"" + request.name() + "\" of "
					+ table.qualifiedName() + " already. Restart it, or use another name.");
		}
		return find(id).orElseThrow();
	}

	private PgBusException unknown(String group, PublishedTable table) {
		boolean exists = this.database.own(GROUP_ID).param("group", group).query(Integer.class).optional().isPresent();
		return exists
				? new PgBusException("Group \"" + group + "\" does not listen to the table " + table.qualifiedName()
						+ ". Backfills go to the listeners of a group that has a table listener for it.")
				: GroupChanges.unknown(group);
	}

	private @Nullable Integer insert(int groupId, PublishedTable table, Order order) {
		BackfillTables tables = tables();
		BackfillQuery query = query(table, order.query(), order.filter());
		Map<String, @Nullable Object> parameters = new HashMap<>();
		parameters.put("groupId", groupId);
		parameters.put("stream", table.stream());
		parameters.put("schema", table.schema());
		parameters.put("table", table.name());
		parameters.put("name", order.name());
		parameters.put("query", order.query());
		parameters.put("filter", order.filter());
		parameters.put("joinsLive", order.joinsLive());
		parameters.put("holdsLive", order.joinsLive() && order.liveChanges() == LiveChanges.AFTER_BACKFILL);
		parameters.put("chunkRows", this.settings.chunkRows());
		parameters.put("chunkBytes", this.settings.chunkBytes());
		parameters.put("rowsPerSecond", order.rowsPerSecond());
		parameters.put("timeout", this.settings.timeout().toMillis() / 1000d);
		parameters.put("estimatedRows", tables.estimate(query));
		Integer id = this.database.own(INSERT).params(parameters).query(Integer.class).optional().orElse(null);
		if (id != null) {
			this.reports.find(id)
				.ifPresent((info) -> logger.info("Backfill {} of {} for group {} is to read {}", id, info.table(),
						info.group(),
						(info.estimatedRows() != null) ? "about " + info.estimatedRows() + " rows" : "rows"));
		}
		return id;
	}

	private BackfillQuery query(PublishedTable table, @Nullable String query, @Nullable String filter) {
		BackfillTables tables = tables();
		return tables.query(tables.describe(table.schema(), table.name()), query, filter);
	}

	private BackfillTables tables() {
		return new BackfillTables(this.database, new RelationCatalog(this.database));
	}

	/**
	 * Pauses a backfill.
	 * @param id the backfill
	 * @return the backfill as it is now
	 * @throws PgBusException if there is none
	 */
	public BackfillInfo pause(long id) {
		return change(id, PAUSE, false);
	}

	/**
	 * Lets a paused backfill go on.
	 * @param id the backfill
	 * @return the backfill as it is now
	 * @throws PgBusException if there is none
	 */
	public BackfillInfo resume(long id) {
		return change(id, RESUME, false);
	}

	/**
	 * Gives a backfill up.
	 * @param id the backfill
	 * @return the backfill as it is now
	 * @throws PgBusException if there is none
	 */
	public BackfillInfo cancel(long id) {
		return change(id, CANCEL, true);
	}

	/**
	 * Starts a backfill again.
	 * @param id the backfill
	 * @return the backfill as it is now
	 * @throws PgBusException if there is none
	 */
	public BackfillInfo restart(long id) {
		return change(id, RESTART, true);
	}

	/**
	 * Starts those backfills again that have not ended, when changes were missed: rows
	 * that were read before may have changed unseen. In the bus's own transaction at
	 * hand.
	 * @return the backfills
	 */
	List<Long> restartUnfinished() {
		List<Long> ids = this.database.own(RESTART_UNFINISHED).query((row, index) -> row.getLong(1)).list();
		ids.forEach((id) -> this.database.own(ABANDON).param("id", id).update());
		return ids;
	}

	private BackfillInfo change(long id, String sql, boolean abandons) {
		this.database.ownTransaction().executeWithoutResult((status) -> {
			if (this.database.own(sql).param("id", id).update() > 0 && abandons) {
				this.database.own(ABANDON).param("id", id).update();
			}
		});
		BackfillInfo info = find(id).orElseThrow(() -> new PgBusException("There is no backfill " + id + "."));
		logger.info("Backfill {} of group {} is {}", id, info.group(), info.state());
		return info;
	}

	/**
	 * Finds a backfill.
	 * @param id the backfill
	 * @return the backfill, empty if there is none
	 */
	public Optional<BackfillInfo> find(long id) {
		return this.reports.find(id);
	}

	/**
	 * Returns the backfills of a group.
	 * @param group the name of the group
	 * @return the backfills, newest first
	 */
	public List<BackfillInfo> list(String group) {
		return this.reports.list(group);
	}

	/**
	 * Returns the backfills of all groups that have neither come to an end nor been given
	 * up.
	 * @param limit the most to return
	 * @return the backfills, newest first
	 */
	public List<BackfillInfo> unfinished(int limit) {
		return this.reports.unfinished(limit);
	}

	private record Order(@Nullable String name, @Nullable String query, @Nullable String filter, boolean joinsLive,
			LiveChanges liveChanges, @Nullable Integer rowsPerSecond) {

	}

	private record Listener(int groupId, @Nullable String filter, boolean wantsChanges) {

	}

}
