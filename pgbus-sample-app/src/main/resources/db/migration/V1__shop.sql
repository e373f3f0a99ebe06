-- The shop's own tables, made by its own Flyway migration. pgbus keeps its tables in a schema of its own.

create table orders (
  id bigint generated always as identity primary key,
  customer text not null,
  item text not null,
  quantity integer not null,
  price_cents integer not null,
  placed_at timestamptz not null default now()
);

-- What the consumer groups write. Nothing in these tables keeps an event from being handled twice: pgbus does.

create table invoice (
  id bigint generated always as identity primary key,
  order_id bigint not null references orders,
  total_cents bigint not null,
  done_at timestamptz not null default now()
);
create index on invoice (order_id);

create table shipment (
  id bigint generated always as identity primary key,
  order_id bigint not null references orders,
  done_at timestamptz not null default now()
);
create index on shipment (order_id);

create table audit_entry (
  event_id bigint not null,
  type text not null,
  key text,
  payload jsonb not null,
  done_at timestamptz not null default now()
);
create index on audit_entry (key);

-- A row for each order: a backfill may give one again that was counted.
create table revenue (
  order_id bigint primary key,
  customer text not null,
  total_cents bigint not null
);
create index on revenue (customer);

-- Orders for these cannot be shipped, so that there is something to retry.
create table broken_item (
  item text primary key
);
insert into broken_item (item) values ('broken-lamp');
