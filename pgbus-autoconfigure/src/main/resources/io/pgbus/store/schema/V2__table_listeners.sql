-- pgbus schema, version 2: table listeners.

-- The streams that have the changes of tables. What all their groups have passed is removed, also when no group is left.
create table table_stream (
	stream_id integer primary key references stream,
	schema_name text not null,
	table_name text not null,
	unique (schema_name, table_name)
);

-- What a group wants of a table. Changes go to the stream of the table, those that no group wants are not stored.
create table table_listener (
	group_id integer not null references consumer_group on delete cascade,
	schema_name text not null,
	table_name text not null,
	stream_id integer not null references table_stream,
	-- as the application says it; filters are SQL over the row, checked when it was put here
	filter text,
	operations text[] not null,
	-- an update must have changed one of these; empty: any
	columns text[] not null default '{}',
	-- changes committed before this are not for the group
	since pg_lsn not null,
	primary key (group_id, schema_name, table_name)
);

-- How far the capture is: its row with the highest version. As with cursor_state, a change deletes the version that was
-- seen and inserts the next, which keeps the way to the live one short under old snapshots, and fences: who lost the slot
-- without knowing finds the version it names gone, and what it appended goes with it.
create table capture_state (
	version bigint primary key,
	changed_at timestamptz not null default clock_timestamp(),
	-- the instance that wrote it, for people
	holder text not null,
	slot text not null,
	-- the server's system identifier
	system_id text not null,
	-- all changes up to here are in the log: the LSN of a commit record, and how many changes of that transaction
	commit_lsn pg_lsn not null,
	ordinal bigint not null,
	-- the highest position that the slot may have been told of
	confirmed_lsn pg_lsn not null
) with (
	autovacuum_vacuum_scale_factor = 0,
	autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_cost_delay = 0
);

-- Changes that were missed, and why.
create table capture_gap (
	id integer generated always as identity primary key,
	found_at timestamptz not null default clock_timestamp(),
	reason text not null,
	from_lsn pg_lsn,
	to_lsn pg_lsn
);

-- The partition of a key that is there. Without random() in it PostgreSQL puts the expression in the place of a call, which
-- a capture has many of.
create function partition_of_key(key text, partitions integer) returns integer
	language sql immutable parallel safe
	return abs(mod(hashtextextended(key collate "C", 0), partitions))::integer;

create or replace function partition_of(key text, partitions integer) returns integer
	language sql immutable parallel safe
	return case
		when key is null then floor(random() * partitions)::integer
		else partition_of_key(key, partitions)
	end;

update bus set schema_version = 2;
