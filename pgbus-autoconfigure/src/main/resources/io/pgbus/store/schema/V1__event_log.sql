-- pgbus schema, version 1.
--
-- Every name is unqualified: Flyway runs this with search_path set to the bus's schema. To run it by hand, as the role
-- that shall own the schema:
--
--     create schema pgbus;
--     set search_path = pgbus;
--     \i V1__event_log.sql

-- One row about the bus itself. Without Flyway this is how an application knows which version it meets.
create table bus (
	only_row boolean primary key default true check (only_row),
	schema_version integer not null
);
insert into bus (schema_version) values (1);

-- The order of the log. It starts at 0 and 0 is drawn here, so that last_value always is an id that was handed out: a
-- horizon's floor is read from it without looking at is_called. No cache, or ids of one transaction would be drawn before
-- a horizon reads the floor and be used after it.
create sequence event_id as bigint minvalue 0 start with 0 cache 1;
do $$ begin perform nextval('event_id'); end $$;

create table stream (
	id integer generated always as identity primary key,
	name text not null unique check (length(name) between 1 and 200),
	partitions integer not null default 8 check (partitions between 1 and 1024),
	created_at timestamptz not null default clock_timestamp()
);

-- The log. "tx" stands before "id": defaults are evaluated in column order, so a transaction owns its xid before it draws
-- its first id. Everything a horizon promises rests on that. Rows are never updated.
create table event (
	tx xid8 not null default pg_current_xact_id(),
	id bigint not null default nextval('event_id'),
	published_at timestamptz not null default clock_timestamp(),
	stream_id integer not null,
	partition integer not null,
	-- bytes of the payload as JSON text, so that a read can stop at a size without looking at the payloads
	size integer not null,
	type text not null check (length(type) between 1 and 200),
	key text check (length(key) between 1 and 1000),
	payload jsonb not null,
	headers jsonb check (jsonb_typeof(headers) = 'object'),
	primary key (stream_id, partition, id)
) partition by range (id);

-- Finds what a transaction left behind a horizon, in id order also where it left a million events.
create index event_tx on event (tx, stream_id, partition, id);

-- Segment n holds the ids from n * 10^9 up to, not including, (n + 1) * 10^9.
create table event_0 partition of event for values from (0) to (1000000000);
create table event_1 partition of event for values from (1000000000) to (2000000000);

create table consumer_group (
	id integer generated always as identity primary key,
	name text not null unique check (length(name) between 1 and 200),
	paused boolean not null default false,
	created_at timestamptz not null default clock_timestamp()
);

-- One running application instance. "locked": it holds the advisory lock (bus's lock class, id) for as long as it lives;
-- without one (a transaction pooler stands between) only its heartbeat tells.
create table consumer (
	id integer generated always as identity primary key,
	name text not null,
	started_at timestamptz not null default clock_timestamp(),
	heartbeat_at timestamptz not null default clock_timestamp(),
	timeout interval not null,
	locked boolean not null default false
) with (fillfactor = 50);

-- Which listener of which consumer takes part in which group, and which types it handles (null: every type).
create table member (
	consumer_id integer not null references consumer on delete cascade,
	listener text not null,
	group_id integer not null references consumer_group on delete cascade,
	types text[],
	primary key (consumer_id, listener)
);
create index member_group on member (group_id);

-- A group's place in one partition. The row never changes, it is what a claim locks; what changes is in cursor_state.
create table cursor (
	id integer generated always as identity primary key,
	group_id integer not null references consumer_group on delete cascade,
	stream_id integer not null references stream,
	partition integer not null,
	-- events published before this are passed over; null: none are
	starts_at timestamptz,
	unique (group_id, stream_id, partition)
);

-- The state of a cursor: its row with the highest version. A change deletes that row and inserts the next version, it
-- never updates: while an old snapshot is open anywhere, the dead versions of an updated row pile up in front of the live
-- one, while here the live one is always the first entry from the top of the index. The version is the fencing token as
-- well: who changes a state names the version it saw, and of two that name the same one the second finds it gone.
-- No foreign keys here and below: a check per row would lock and dirty the cursor's row on the hottest path.
create table cursor_state (
	cursor_id integer not null,
	version bigint not null,
	changed_at timestamptz not null default clock_timestamp(),
	-- the consumer that holds the cursor, which of its workers, and since when; null: free
	owner integer,
	worker integer,
	claimed_at timestamptz,
	-- the end of what the owner read last: it is delivering the events from position to here
	reading_to bigint,
	-- left here by a member that has no handler for this type, for one that has
	awaits_type text,
	-- the two horizons (snapshot, floor, bound) and the way between them
	low_snapshot pg_snapshot not null,
	low_floor bigint not null,
	low_bound xid8 not null,
	high_snapshot pg_snapshot not null,
	high_floor bigint not null,
	high_bound xid8 not null,
	ceiling bigint not null,
	position bigint not null,
	primary key (cursor_id, version)
) with (
	autovacuum_vacuum_scale_factor = 0,
	autovacuum_vacuum_threshold = 2000,
	autovacuum_vacuum_cost_delay = 0
);

-- What exactly-once handlers have done above their cursor's position: inserted in the handler's own transaction.
create table ledger (
	cursor_id integer not null,
	event_id bigint not null,
	primary key (cursor_id, event_id)
) with (
	autovacuum_vacuum_scale_factor = 0,
	autovacuum_vacuum_threshold = 10000,
	autovacuum_vacuum_cost_delay = 0
);

-- An event that a group could not handle yet: retrying, held behind an earlier event with the same key, or dead.
create table failed_event (
	cursor_id integer not null,
	event_id bigint not null,
	-- the order of delivery, which within a key is the order of retries
	ordinal bigint generated always as identity,
	key text,
	type text not null,
	state text not null check (state in ('retrying', 'held', 'dead')),
	-- whether later events with the same key wait behind this one
	holds_key boolean not null,
	attempts integer not null default 0,
	next_attempt_at timestamptz,
	first_failed_at timestamptz,
	last_failed_at timestamptz,
	error_type text,
	error_message text,
	error_stack text,
	primary key (cursor_id, event_id)
);
create index failed_event_due on failed_event (cursor_id, next_attempt_at) where state = 'retrying';
create index failed_event_key on failed_event (cursor_id, key, ordinal) where holds_key;

-- The partition of a key: the same for every publisher, in Java or in SQL.
create function partition_of(key text, partitions integer) returns integer
	language sql immutable parallel safe
	return case
		when key is null then floor(random() * partitions)::integer
		else abs(mod(hashtextextended(key collate "C", 0), partitions))::integer
	end;

-- Publishes an event from SQL, a trigger for one, in the caller's transaction; makes the stream on first use.
-- Returns the id. Instances find the event by polling; to wake them at once, notify them after the commit.
create function publish(stream text, key text, type text, payload jsonb, headers jsonb default null) returns bigint
	language sql volatile
	begin atomic
		insert into stream (name) select publish.stream
			where not exists (select from stream s where s.name = publish.stream)
			on conflict do nothing;
		insert into event (stream_id, partition, size, type, key, payload, headers)
			select s.id, partition_of(publish.key, s.partitions), octet_length(publish.payload::text),
				publish.type, publish.key, publish.payload, publish.headers
			from stream s where s.name = publish.stream
			returning id;
	end;
