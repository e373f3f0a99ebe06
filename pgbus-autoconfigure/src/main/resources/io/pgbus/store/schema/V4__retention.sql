-- pgbus schema, version 4: retention.

-- How long events are kept. Null: for ever. Zero: until all groups have passed.
alter table stream add column retention interval check (retention >= interval '0');

-- When the retention last saw a member of the group. That its cursors change counts as well.
alter table consumer_group add column seen_at timestamptz;

-- The segments of the log, those ahead too. The catalog knows which there are, this table what became of them.
create table segment (
	number bigint primary key,
	made_at timestamptz not null default clock_timestamp(),
	-- all transactions that publish know of it, so that ids may be drawn from it
	known boolean not null default false,
	-- the last id was in it for the first time
	opened_at timestamptz,
	-- the last id was behind it, and all transactions that may have had ids in it had ended
	complete_at timestamptz,
	-- the transactions that have to end before it is known, or complete (pg_locks.virtualtransaction); null: not looked yet
	awaits text[],
	-- all that is in it may go: it is being detached and dropped
	dropping boolean not null default false
);
insert into segment (number, known)
	select substring(c.relname from 7)::bigint, true
	from pg_inherits i join pg_class c on c.oid = i.inhrelid
	where i.inhparent = 'event'::regclass and c.relname ~ '^event_[0-9]{1,10}$';

-- Events that failures still need, and whose segment has been dropped.
create table kept_event (
	tx xid8 not null,
	id bigint not null,
	published_at timestamptz not null,
	stream_id integer not null,
	partition integer not null,
	size integer not null,
	type text not null,
	key text,
	payload jsonb not null,
	headers jsonb,
	primary key (stream_id, partition, id)
);

-- The one instance that looks after the segments, and until when others leave it to that.
create table retention_lease (
	only_row boolean primary key default true check (only_row),
	holder text not null default '',
	until timestamptz not null default '-infinity'
) with (fillfactor = 50);
insert into retention_lease default values;

-- Makes the next segment. A table is made and then attached, since "partition of" would lock publishers out, while
-- attaching locks out nobody that publishes or reads.
create function make_segment() returns bigint
	language plpgsql volatile set search_path from current as $$
declare
	made bigint;
begin
	perform pg_advisory_xact_lock('segment'::regclass::oid::integer, 0);
	select 1 + greatest(max(number), (select last_value from event_id) / 1000000000) into made from segment;
	execute format('create table event_%s (like event including all)', made);
	execute format('alter table event attach partition event_%s for values from (%s) to (%s)',
		made, made * 1000000000, (made + 1) * 1000000000);
	insert into segment (number) values (made);
	return made;
end $$;

-- As they were, but over the segments that there are.

create or replace view stream_status as
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
		from (
			select number as segment from segment
			where not dropping and number <= (select last_value from event_id) / 1000000000
		) as segments
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

create or replace view group_status as
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
		from (
			select number as segment from segment
			where not dropping and number >= greatest(c.done_to, 0) / 1000000000
			and number <= (select last_value from event_id) / 1000000000
		) as segments
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

update bus set schema_version = 4;
