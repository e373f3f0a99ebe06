package io.pgbus.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import io.pgbus.BackfillRequest;
import org.jspecify.annotations.Nullable;

/**
 * Reads rows of tables as workers do. Nothing is handled unless a test says so.
 */
final class BackfillBed {

	private final CaptureBed bed;

	private final ConsumerStore consumers;

	final BackfillStore backfills;

	BackfillBed(CaptureBed bed, int chunkRows) {
		this(bed, chunkRows, 1024 * 1024);
	}

	BackfillBed(CaptureBed bed, int chunkRows, long chunkBytes) {
		this.bed = bed;
		this.consumers = new ConsumerStore(bed.database);
		this.backfills = new BackfillStore(bed.database,
				new BackfillSettings(chunkRows, chunkBytes, null, Duration.ofMinutes(1)));
	}

	/** A worker of an instance of its own. */
	Holder worker() {
		return new Holder(this.consumers.register("test", Duration.ofMinutes(1)), 1);
	}

	/** The instance of a worker is gone. */
	void lose(Holder worker) {
		this.consumers.remove(worker.consumerId());
	}

	ChunkStore chunks(int groupId) {
		return new ChunkStore(this.bed.database, groupId,
				this.bed.jdbc.sql("select id from pgbus.stream").query(Integer.class).list());
	}

	/** Reads all rows of a table for a group that listens to it. */
	List<StoredEvent> read(int groupId, String group, String table) {
		this.backfills.start(group, BackfillRequest.of(table));
		return readAll(chunks(groupId));
	}

	List<StoredEvent> readAll(ChunkStore chunks) {
		Holder worker = worker();
		List<StoredEvent> events = new ArrayList<>();
		Chunk chunk = chunks.claim(worker, List.of());
		while (chunk != null) {
			events.addAll(chunk.events());
			chunks.finish(chunk);
			chunk = chunks.claim(worker, List.of());
		}
		return events;
	}

	String record(StoredEvent event) {
		return this.bed.jdbc.sql("select (?::jsonb -> 'record')::text")
			.param(event.payload())
			.query(String.class)
			.single();
	}

	/** Says that a worker has done a row, as its handler's transaction does. */
	void done(Chunk chunk, Holder worker, long row) {
		this.bed.database
			.alone(() -> new Ledger(this.bed.database).enter(chunk.next(chunk.events().size()), worker, List.of(row)));
	}

	/**
	 * Tells whether a group gets a change.
	 * @param groupId the group
	 * @param table the table
	 * @param key the key of the event
	 * @param transaction the xid of the change
	 * @param type the type of the event
	 */
	boolean getsChange(int groupId, String table, @Nullable String key, String transaction, String type) {
		return this.bed.jdbc
			.sql("""
					with e as (
						insert into pgbus.event (stream_id, partition, size, type, key, payload, headers)
						select s.id, 0, 1, ?, ?, jsonb_build_object('xid', ?), jsonb_build_object(?, 'in')
						from pgbus.stream s where s.name = ? returning *
					)
					select count(*) from e cross join lateral (
						select e.type, e.key, e.payload, e.headers
					) event where\s""" + this.bed.database.sql(TableListenerStore.eventFilter(groupId))
				.replace("?", "??")
				.replace("headers", "event.headers")
				.replace(" type", " event.type"))
			.params(type, key, transaction, "group-" + groupId, this.bed.published(table).stream())
			.query(Long.class)
			.single() > 0;
	}

}
