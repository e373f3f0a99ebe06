-- pgbus schema, version 7: data that replication has moved.
--
-- The function of version 6, but for five things: it refuses while a subscription still brings rows; it sets also sequences
-- that were never used, and not to where a group is to start; it takes for published here only what has an id that was drawn
-- here; and it forgets segments of which only the row has come.

-- Makes the bus go on in the server to which its data was moved; returns how many deliveries are left to do. What each
-- cursor has not done is found by the ids of the old server. Then everything that has been published gets an id that all
-- snapshots of this server see: what all have done 3, the others one from 4 on, those that the same cursors have not done
-- the same one. A cursor gets a horizon of this server that in addition takes the ids of what it has not done for running.
create or replace function rebase(force boolean default false) returns bigint
	language plpgsql volatile set search_path from current as $$
declare
	alive text;
	subscriptions text;
	is_restored boolean;
	drawn_id bigint;
	last_id bigint;
	own xid8;
	here pg_snapshot;
	deliveries bigint;
	highest xid8;
	numbered record;
begin
	if current_setting('transaction_isolation') <> 'read committed' then
		raise exception 'This has to look again after it has waited: run it in a transaction that is READ COMMITTED';
	end if;
	-- nobody is between drawing an id and the commit any more
	lock table consumer, cursor, cursor_state, ledger, failed_event, event in exclusive mode;
	select string_agg(k.name, ', ') into alive from consumer k
		where k.heartbeat_at > clock_timestamp() - k.timeout
		and (
			not k.locked or exists (
				select from pg_locks l
				where l.locktype = 'advisory' and l.granted and l.objsubid = 2
				and l.database = (select d.oid from pg_database d where d.datname = current_database())
				and l.classid = 'bus'::regclass::oid and l.objid = k.id::oid
			)
		);
	if alive is not null then
		raise exception 'Consumers are running, or have been until now: %', alive
			using hint = 'Stop them, and wait until their timeout (pgbus.consumer.timeout) is over.';
	end if;
	select string_agg(distinct s.subname, ', ') into subscriptions from pg_subscription s
		join pg_subscription_rel r on r.srsubid = s.oid
		join pg_class c on c.oid = r.srrelid
		where c.relnamespace = (select relnamespace from pg_class where oid = 'event'::regclass)
		and (
			c.relname in ('bus', 'consumer_group', 'cursor', 'cursor_state', 'event', 'failed_event', 'ledger', 'stream')
			or c.relname ~ '^event_[0-9]+$'
		);
	if subscriptions is not null then
		raise exception 'Rows of this bus are being brought here by a subscription: %', subscriptions
			using hint = 'Let all of them come, and drop it.';
	end if;
	if not force and not is_moved() then
		raise exception 'The data of this bus does not seem to have been moved'
			using hint = 'If it was, for all that, call rebase(true).';
	end if;
	is_restored := not exists (
		select from origin o
		where o.system_id = (select system_identifier::text from pg_control_system())
		or o.mark = o.xmin::text and o.event_table = 'event'::regclass
	);

	-- logical replication does not bring sequences. One that was never used has its first value as the last one, so where
	-- that is taken it has to be set as well
	for numbered in
		select c.relname as table_name, a.attname as column_name,
			pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) as sequence
		from pg_class c
		join pg_namespace n on n.oid = c.relnamespace
		join pg_attribute a on a.attrelid = c.oid and a.attidentity <> ''
		where n.oid = (select relnamespace from pg_class where oid = 'event'::regclass)
	loop
		execute format('select setval(%1$L, max(t.%2$I)) from %3$I t having max(t.%2$I) >= (select last_value from %1$s)',
			numbered.sequence, numbered.column_name, numbered.table_name);
	end loop;
	select last_value into drawn_id from event_id;
	last_id := greatest(
		drawn_id,
		(select max(e.id) from event e where e.id > drawn_id),
		-- a floor that no transaction has taken is where a group is to start
		(
			select max(greatest(
				s.ceiling, s.position,
				case when s.low_bound > '3' then s.low_floor end, case when s.high_bound > '3' then s.high_floor end
			))
			from cursor_state s where s.cursor_id > 0
		),
		(select max(f.event_id) from failed_event f where f.cursor_id > 0)
	);
	perform setval('event_id', last_id);
	own := pg_current_xact_id();
	here := pg_current_snapshot();

	with reader as materialized (
		select c.id, c.stream_id, c.partition, s.version, s.is_open, s.position, s.high_snapshot,
			case when s.is_open then s.low_snapshot else s.high_snapshot end as done,
			case when s.is_open then s.low_floor else s.high_floor end as floor,
			case when s.is_open then s.low_bound else s.high_bound end as bound
		from cursor c
		cross join lateral (
			select s.*, s.position < s.ceiling as is_open from cursor_state s
			where s.cursor_id = c.id order by s.version desc limit 1
		) s
	),
	-- Published here since: who wrote the row has the id that is in it, and wrote nothing else. A transaction that
	-- replication brings may happen to have the same id here as there, but its events have ids that were not drawn here.
	published_here as materialized (
		select e.xmin as writer from event e where is_restored
		group by e.xmin having bool_and(e.tx::xid = e.xmin and e.id <= drawn_id)
	),
	pending as materialized (
		select r.id as cursor_id, e.stream_id, e.partition, e.id
		from reader r
		cross join lateral (
			select e.tx, e.stream_id, e.partition, e.id from event e
			where e.stream_id = r.stream_id and e.partition = r.partition and e.id > r.floor
			union all
			select e.tx, e.stream_id, e.partition, e.id from event e
			where e.stream_id = r.stream_id and e.partition = r.partition and e.id <= r.floor
			and e.tx >= pg_snapshot_xmax(r.done) and e.tx < r.bound
			union all
			select e.tx, e.stream_id, e.partition, e.id from event e
			where e.stream_id = r.stream_id and e.partition = r.partition and e.id <= r.floor
			and e.tx = any (array(select pg_snapshot_xip(r.done)))
		) e
		where not pg_visible_in_snapshot(e.tx, r.done)
		and not (r.is_open and e.id <= r.position and pg_visible_in_snapshot(e.tx, r.high_snapshot))
		and not exists (select from ledger l where l.cursor_id = r.id and l.event_id = e.id)
		and not exists (select from failed_event f where f.cursor_id = r.id and f.event_id = e.id)
		union
		select r.id, e.stream_id, e.partition, e.id
		from event e
		join reader r on r.stream_id = e.stream_id and r.partition = e.partition
		where e.xmin in (select writer from published_here)
	),
	marked as materialized (
		select p.stream_id, p.partition, p.id, p.cursors,
			(3 + dense_rank() over (partition by p.stream_id, p.partition order by p.cursors))::text::xid8 as tx
		from (
			select stream_id, partition, id, array_agg(cursor_id order by cursor_id) as cursors
			from pending group by stream_id, partition, id
		) p
	),
	-- few, however many events there are
	mark as materialized (
		select distinct m.tx, m.cursors from marked m
	),
	-- changes of tables are older than all that a backfill reads here
	left_over as (
		update event e
		set tx = m.tx,
			payload = case
				when e.payload ? 'xid' and exists (select from table_stream t where t.stream_id = e.stream_id)
				then jsonb_set(e.payload, '{xid}', '"3"') else e.payload
			end
		from marked m
		where e.stream_id = m.stream_id and e.partition = m.partition and e.id = m.id
	),
	done_by_all as (
		update event e set tx = '3'
		where (e.tx >= pg_snapshot_xmin(here) or e.tx > '3' and e.tx <= (select m.tx from mark m order by m.tx desc limit 1))
		and not exists (
			select from marked m where m.stream_id = e.stream_id and m.partition = e.partition and m.id = e.id
		)
	),
	running as materialized (
		select distinct c.id, m.tx from mark m cross join lateral unnest(m.cursors) c(id)
		union all
		select r.id, x.tx from reader r cross join lateral pg_snapshot_xip(here) x(tx)
	),
	-- a group that is to start ahead stays there
	horizon as materialized (
		select r.id, r.version,
			case when a.is_ahead then r.floor
				else least(last_id, greatest(r.floor, case when r.is_open then r.position end)) end as floor,
			case when a.is_ahead then r.bound else own end as bound,
			coalesce(
				(
					select format('%s:%s:%s', (array_agg(n.tx order by n.tx))[1], pg_snapshot_xmax(here),
						string_agg(n.tx::text, ',' order by n.tx))::pg_snapshot
					from running n where n.id = r.id
					having count(*) > 0
				),
				here
			) as snapshot
		from reader r
		cross join lateral (select r.bound = '3' and r.floor > last_id as is_ahead) a
	),
	ended as (
		delete from cursor_state s using reader r where s.cursor_id = r.id
	),
	begun as (
		insert into cursor_state (cursor_id, version, low_snapshot, low_floor, low_bound,
			high_snapshot, high_floor, high_bound, ceiling, position)
		select h.id, h.version + 1, h.snapshot, h.floor, h.bound, h.snapshot, h.floor, h.bound, 0, 0
		from horizon h
	)
	select (select count(*) from pending), (select m.tx from mark m order by m.tx desc limit 1)
		into deliveries, highest;
	if highest >= pg_snapshot_xmin(here) then
		raise exception 'This server has not had enough transactions yet: more than % are needed', highest;
	end if;
	delete from ledger where cursor_id > 0;
	update kept_event set tx = '3';
	-- rows that a backfill has read are there still; what this server's transactions change is newer
	with taken as (
		delete from cursor_state s where s.cursor_id < 0 and s.owner is not null returning s.*
	)
	insert into cursor_state (cursor_id, version, low_snapshot, low_floor, low_bound,
			high_snapshot, high_floor, high_bound, ceiling, position)
		select cursor_id, version + 1, low_snapshot, low_floor, low_bound, high_snapshot, high_floor, high_bound,
			ceiling, position
		from taken;
	update backfill_chunk set snapshot = '3:3:';
	update backfill set max_xmax = null, admitted = null;
	-- so are positions in the write-ahead log; that its changes are missing is for the capture to say
	update table_listener set since = '0/0';
	update segment set awaits = null where awaits is not null;
	-- replication brings the row of a segment that was made meanwhile, and not the segment
	delete from segment s where not exists (
		select from pg_class c where c.relname = 'event_' || s.number
		and c.relnamespace = (select relnamespace from pg_class where oid = 'event'::regclass)
	);
	delete from consumer;
	perform note_origin();
	return deliveries;
end $$;

update bus set schema_version = 7;
