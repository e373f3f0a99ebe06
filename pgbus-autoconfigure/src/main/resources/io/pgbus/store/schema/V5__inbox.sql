-- pgbus schema, version 5: a bus in another database than the data.

-- Tells this bus from all others.
alter table bus add column id uuid not null default gen_random_uuid();

-- Cursors of another bus whose events have their effects in this database: who works on one, as far as this database has
-- been told. As with cursor_state, a change inserts the next version and deletes those before.
create table inbox (
	-- the id of the other bus
	source uuid not null,
	cursor_id integer not null,
	-- the version of the cursor's state there
	version bigint not null,
	-- the snapshot up to which its window reaches, which no two windows have in common
	reads_up_to text not null,
	changed_at timestamptz not null default clock_timestamp(),
	primary key (source, cursor_id, version)
) with (
	autovacuum_vacuum_scale_factor = 0,
	autovacuum_vacuum_threshold = 2000,
	autovacuum_vacuum_cost_delay = 0
);

-- What handlers have done of it: inserted in the handler's own transaction, as rows of the ledger are.
create table inbox_entry (
	source uuid not null,
	cursor_id integer not null,
	event_id bigint not null,
	-- the ordinal of the failure after which the event was handled; 0: none
	failure bigint not null default 0,
	primary key (source, cursor_id, event_id, failure)
) with (
	autovacuum_vacuum_scale_factor = 0,
	autovacuum_vacuum_threshold = 10000,
	autovacuum_vacuum_cost_delay = 0
);

update bus set schema_version = 5;
