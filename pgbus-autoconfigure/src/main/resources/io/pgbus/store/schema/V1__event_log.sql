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
	-- as many bytes as an index entry has room for
	key text check (length(key) between 1 and 1000 and octet_length(key) <= 2000),
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
create index failed_event_dead on failed_event (cursor_id, event_id) where state = 'dead';

-- The partition of a key: the same for every publisher, in Java or in SQL.
create function partition_of(key text, partitions integer) returns integer
	language sql immutable parallel safe
	return case
		when key is null then floor(random() * partitions)::integer
		else abs(mod(hashtextextended(key collate "C", 0), partitions))::integer
	end;

-- The views are for people who look after the bus, and for its endpoint. They read with the rights of their owner, so a
-- role that may read them needs no rights on the tables, and sees no payload. What one costs grows with the partitions,
-- not with the log: of more than 200 events in a row only both ends are looked at, and the numbers called estimates
-- are then reckoned from the ids in between, which other streams share. One segment at a time, since between segments
-- there are ids that nobody drew. A scan has one bound and a limit: with two, the planner takes the range for small, and
-- reads all of it.

-- "estimated_rate": events a second, over the last minute.
create view stream_status as
	select s.name as stream, s.partitions, s.created_at,
		min(oldest.id) as first_event, min(oldest.published_at) as first_published_at,
		max(newest.id) as last_event, max(newest.published_at) as last_published_at,
		sum(size.events)::bigint as estimated_events,
		round(sum(recent.rate), 3)::double precision as estimated_rate
	from stream s
	cross join lateral generate_series(0, s.partitions - 1) as p(partition)
	left join lateral (
		select e.id, e.published_at from event e
		where e.stream_id = s.id and e.partition = p.partition
		order by e.id limit 1
	) oldest on true
	left join lateral (
		select e.id, e.published_at from event e
		where e.stream_id = s.id and e.partition = p.partition
		order by e.id desc limit 1
	) newest on true
	cross join lateral (
		select sum(
			case when head.n < 200 then head.n
			else greatest(
				head.n,
				1 + (tail.last - head.first) * (199.0 / (head.last - head.first) + 199.0 / (tail.last - tail.first)) / 2
			) end
		) as events
		from generate_series(0, (select last_value from event_id) / 1000000000) as segment
		cross join lateral (
			select count(*) as n, min(e.id) as first, max(e.id) as last
			from (
				select e.id from event e
				where e.stream_id = s.id and e.partition = p.partition and e.id >= segment * 1000000000
				order by e.id limit (select 200)
			) e
			where e.id < (segment + 1) * 1000000000
		) head
		cross join lateral (
			select min(e.id) as first, max(e.id) as last
			from (
				select e.id from event e
				where head.n = 200
				and e.stream_id = s.id and e.partition = p.partition and e.id < (segment + 1) * 1000000000
				order by e.id desc limit (select 200)
			) e
			where e.id >= head.first
		) tail
	) size
	cross join lateral (
		select case when count(*) < 200 then count(*) / 60.0
			else 200 / greatest(extract(epoch from clock_timestamp() - min(e.published_at))::numeric, 0.001)
			end as rate
		from (
			select e.published_at from event e
			where e.stream_id = s.id and e.partition = p.partition
			order by e.id desc limit (select 200)
		) e
		where e.published_at > clock_timestamp() - interval '1 minute'
	) recent
	group by s.id;

-- How far a group is in one partition. "position": all events up to this id are done, but for those of transactions that
-- commit late; failed events count as done here and are counted by themselves, up to 10,000 of each state. Waiting events
-- are above the position, whether or not a listener wants them; "oldest_waiting_at" is when the first of them was
-- published, null if there is none: the group is up to date.
create view group_status as
	select g.name as group_name, stream.name as stream, c.partition, g.paused,
		k.name as consumer, c.worker, c.claimed_at as since, c.done_to as position,
		coalesce(waiting.events, 0)::bigint as estimated_lag,
		greatest(waiting.oldest, c.starts_at) as oldest_waiting_at,
		failed.retrying, failed.held, failed.dead
	from consumer_group g
	join (
		select c.id, c.group_id, c.stream_id, c.partition, c.starts_at, s.owner, s.worker, s.claimed_at,
			-- a cursor whose window is done has done what its high horizon sees
			case when s.position < s.ceiling then s.low_snapshot else s.high_snapshot end as done,
			greatest(s.position, case when s.position < s.ceiling then s.low_floor else s.high_floor end) as done_to
		from cursor c
		cross join lateral (
			select * from cursor_state s where s.cursor_id = c.id order by s.version desc limit 1
		) s
	) c on c.group_id = g.id
	join stream on stream.id = c.stream_id
	left join consumer k on k.id = c.owner
	cross join lateral (
		select min(head.oldest) as oldest, sum(
			case when head.n < 200 then head.n
			else greatest(
				head.n,
				1 + (tail.last - head.first) * (199.0 / (head.last - head.first) + 199.0 / (tail.last - tail.first)) / 2
			) end
		) as events
		from generate_series(
			greatest(c.done_to, 0) / 1000000000, (select last_value from event_id) / 1000000000
		) as segment
		cross join lateral (
			select count(*) as n, min(e.id) as first, max(e.id) as last, min(e.published_at) as oldest
			from (
				select e.id, e.published_at from event e
				where e.stream_id = c.stream_id and e.partition = c.partition
				and e.id > greatest(c.done_to, segment * 1000000000 - 1)
				and not pg_visible_in_snapshot(e.tx, c.done)
				order by e.id limit (select 200)
			) e
			where e.id < (segment + 1) * 1000000000
		) head
		cross join lateral (
			select min(e.id) as first, max(e.id) as last
			from (
				select e.id from event e
				where head.n = 200
				and e.stream_id = c.stream_id and e.partition = c.partition and e.id < (segment + 1) * 1000000000
				order by e.id desc limit (select 200)
			) e
			where e.id >= head.first
		) tail
	) waiting
	cross join lateral (
		select
			(
				select count(*) from (
					select from failed_event f where f.cursor_id = c.id and f.state = 'retrying' limit 10000
				) f
			) as retrying,
			(
				select count(*) from (
					select from failed_event f where f.cursor_id = c.id and f.state = 'held' and f.holds_key limit 10000
				) f
			) as held,
			(
				select count(*) from (
					select from failed_event f where f.cursor_id = c.id and f.state = 'dead' limit 10000
				) f
			) as dead
	) failed;

-- What is being handled: the events of the partition behind one id, up to another. "since": the consumer holds the
-- partition, "reading_since": it has these events.
create view in_flight as
	select g.name as group_name, stream.name as stream, c.partition, k.name as consumer, s.worker,
		s.claimed_at as since, s.changed_at as reading_since, s.position as after_event, s.reading_to as up_to_event
	from cursor c
	cross join lateral (
		select * from cursor_state s where s.cursor_id = c.id order by s.version desc limit 1
	) s
	join consumer_group g on g.id = c.group_id
	join stream on stream.id = c.stream_id
	left join consumer k on k.id = s.owner
	where s.owner is not null;

-- The events that groups could not handle yet.
create view failure as
	select g.name as group_name, stream.name as stream, c.partition, f.event_id, f.key, f.type, f.state, f.attempts,
		f.next_attempt_at, f.first_failed_at, f.last_failed_at, f.error_type, f.error_message
	from failed_event f
	join cursor c on c.id = f.cursor_id
	join consumer_group g on g.id = c.group_id
	join stream on stream.id = c.stream_id;

-- Publishes an event from SQL, a trigger for one, in the caller's transaction; makes the stream on first use.
-- Returns the id. Instances find the event by polling; to wake them at once, notify them after the commit.
-- This is the last statement, since the JDBC driver does not see where its body ends.
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
