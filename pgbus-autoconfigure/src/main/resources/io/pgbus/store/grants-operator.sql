-- What a role needs to look after the bus with SQL, and to publish: the views, without the payloads of events, and the
-- function publish(). As the owner of the schema:
--
--     psql -v schema=pgbus -v role=the_operator -f grants-operator.sql

grant usage on schema :"schema" to :"role";

grant select on :"schema".bus to :"role";
grant select on :"schema".stream_status to :"role";
grant select on :"schema".group_status to :"role";
grant select on :"schema".in_flight to :"role";
grant select on :"schema".failure to :"role";

grant execute on function :"schema".publish(text, text, text, jsonb, jsonb) to :"role";
grant execute on function :"schema".partition_of(text, integer) to :"role";
grant execute on function :"schema".partition_of_key(text, integer) to :"role";
grant select, insert on :"schema".stream to :"role";
grant insert, select (id) on :"schema".event to :"role";
grant usage on sequence :"schema".event_id to :"role";
