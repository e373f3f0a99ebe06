-- pgbus schema, version 3: backfills.

-- Rows of a table on their way to a group, read from the table itself.
create table backfill (
	id integer generated always as identity primary key,
	group_id integer not null references consumer_group on delete cascade,
	stream_id integer not null references table_stream,
	schema_name text not null,
	table_name text not null,
	-- the same name is the same backfill; null: one of many
	name text,
	-- what to read; null: the whole table
	query text,
	filter text,
	state text not null check (state in ('waiting', 'running', 'paused', 'done', 'failed', 'cancelled')),
	-- the group gets changes of the table as well, so it is kept which rows were read when
	joins_live boolean not null,
	-- these changes wait until the backfill is done
	holds_live boolean not null,
	chunk_rows integer not null check (chunk_rows > 0),
	chunk_bytes bigint not null check (chunk_bytes > 0),
	rows_per_second integer check (rows_per_second > 0),
	-- of one read
	timeout interval not null,
	-- the primary key up to which chunks were made, and whether these are all
	planned_to text[],
	planned boolean not null default false,
	next_chunk_at timestamptz not null default clock_timestamp(),
	-- every transaction up to this one must have ended before the first row is read
	admitted xid8,
	-- no chunk sees this transaction or a later one
	max_xmax xid8,
	estimated_rows bigint,
	rows_read bigint not null default 0,
	chunks_done integer not null default 0,
	-- why it waits or has failed
	error text,
	created_at timestamptz not null default clock_timestamp(),
	started_at timestamptz,
	finished_at timestamptz,
	unique (group_id, schema_name, table_name, name)
) with (fillfactor = 50);
create index backfill_group on backfill (group_id, stream_id);

-- The rows of one read, in the order of the primary key. Who works on it holds the state (in cursor_state, as that of any
-- cursor) whose cursor_id is the chunk's id with a minus; its position is the number of the row.
create table backfill_chunk (
	id integer generated always as identity primary key,
	backfill_id integer not null references backfill on delete cascade,
	-- rows behind this key, up to that one; null: no bound
	lower_key text[],
	upper_key text[],
	snapshot pg_snapshot not null,
	state text not null check (state in ('open', 'done')),
	-- the rows from 1 up to this one are delivered from here
	rows integer not null,
	-- their primary keys, while it is open
	row_keys text[],
	-- no more of its rows are wanted
	abandoned boolean not null default false
);
create index backfill_chunk_backfill on backfill_chunk (backfill_id);
create index backfill_chunk_open on backfill_chunk (backfill_id) where state = 'open';

-- Which row is in which chunk, by a hash of the key of the row's events.
create table backfill_key (
	backfill_id integer not null references backfill on delete cascade,
	key_hash bigint not null,
	chunk_id integer not null,
	ordinal integer not null,
	primary key (backfill_id, key_hash, chunk_id)
);

update bus set schema_version = 3;
