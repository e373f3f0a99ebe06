-- What a role needs to publish, to listen and to run the commands, where another role owns the bus's schema and pgbus.schema.initialize is
-- "never". As the owner of the schema:
--
--     psql -v schema=pgbus -v role=the_application -f grants.sql
--
-- A role that only publishes needs the usage of the schema, bus, stream, event and event_id.

grant usage on schema :"schema" to :"role";

grant select on :"schema".bus to :"role";

grant select, insert on :"schema".stream to :"role";
grant select, insert on :"schema".event to :"role";
-- "usage" draws ids, "select" reads the last one
grant usage, select on sequence :"schema".event_id to :"role";

-- "update" pauses groups, "delete" deletes them: for ConsumerGroupOperations and the endpoint
grant select, insert, update, delete on :"schema".consumer_group to :"role";
grant select, insert, update, delete on :"schema".consumer to :"role";
grant select, insert, update, delete on :"schema".member to :"role";
-- "update" is for the lock that a claim takes, and to seek
grant select, insert, update on :"schema".cursor to :"role";
grant select, insert, delete on :"schema".cursor_state to :"role";
grant select, insert, delete on :"schema".ledger to :"role";
grant select, insert, update, delete on :"schema".failed_event to :"role";

-- for table listeners; "delete" on the log removes changes that all groups have passed
grant select, insert on :"schema".table_stream to :"role";
grant select, insert, update, delete on :"schema".table_listener to :"role";
grant select, insert, delete on :"schema".capture_state to :"role";
grant select, insert on :"schema".capture_gap to :"role";
grant delete on :"schema".event to :"role";

-- for backfills, which also read the tables themselves
grant select, insert, update on :"schema".backfill to :"role";
grant select, insert, update, delete on :"schema".backfill_chunk to :"role";
grant select, insert, delete on :"schema".backfill_key to :"role";

-- for ConsumerGroupOperations, the endpoint and people
grant select on :"schema".stream_status to :"role";
grant select on :"schema".group_status to :"role";
grant select on :"schema".in_flight to :"role";
grant select on :"schema".failure to :"role";

-- how long streams keep their events, and events that failures need and that are not in the log any more
grant update (retention) on :"schema".stream to :"role";
grant select on :"schema".kept_event to :"role";

-- where the bus and the data are in two databases, in both
grant select, insert, delete on :"schema".inbox to :"role";
grant select, insert, delete on :"schema".inbox_entry to :"role";

-- where the data is from
grant select, insert, update on :"schema".origin to :"role";
