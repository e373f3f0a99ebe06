create table shop_order (id text primary key);
-- were the bus's schema there already, it would not have been made after this
create table bus_before as select count(*) as schemas from pg_namespace where nspname in ('pgbus', 'after_flyway');
