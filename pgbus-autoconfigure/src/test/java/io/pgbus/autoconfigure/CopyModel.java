package io.pgbus.autoconfigure;

import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;

import io.pgbus.DeliveryMode;
import io.pgbus.ListenedTable;
import io.pgbus.RetryPolicy;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import org.springframework.context.ApplicationContext;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;

/**
 * The tables <code>thing</code> and <code>copy</code>, which a handler keeps equal. Each
 * version of a row has a number that is higher than those of all before. What a handler
 * should not have been given is in the table <code>violation</code>.
 */
final class CopyModel {

	private final JdbcClient jdbc;

	private final int keys;

	/**
	 * Creates the model.
	 * @param jdbc the database
	 * @param keys how many keys rows may have
	 */
	CopyModel(JdbcClient jdbc, int keys) {
		this.jdbc = jdbc;
		this.keys = keys;
	}

	void createTables(int rows) {
		this.jdbc.sql("""
				create sequence number;
				create table thing (id bigint primary key, version bigint not null, name text);
				create table copy (id bigint primary key, version bigint not null, name text);
				create table seen (source bigint, id bigint, version bigint, operation text);
				create index on seen (id, version);
				create table highest (id bigint primary key, version bigint not null);
				create table violation (what text)""").update();
		this.jdbc.sql("insert into thing select n * 2 - 50, nextval('number'), 'first' from generate_series(1, ?) n")
			.param(rows)
			.update();
	}

	static void listen(ApplicationContext context) {
		JdbcClient client = context.getBean(JdbcClient.class);
		context.getBean(PgListenerContainerRegistry.class)
			.register(PgListenerEndpoint.id("copy")
				.group("copy")
				.tables(ListenedTable.of("thing")
					.operations(TableOperation.INSERT, TableOperation.UPDATE, TableOperation.DELETE)
					.backfill("select * from thing"))
				.concurrency(2)
				.delivery(DeliveryMode.EXACTLY_ONCE)
				.retry(new RetryPolicy(1000, Duration.ofMillis(5), 1, Duration.ofMillis(5), 0,
						RetryPolicy.DEFAULT.notRetried(), RetryPolicy.OnDead.CONTINUE))
				.onChange(Thing.class, (change) -> copy(client, change)));
	}

	private static void copy(JdbcClient client, TableChange<Thing> change) {
		Thing thing = change.record();
		if (thing == null) {
			long id = ((Number) Objects.requireNonNull(change.key().get("id"))).longValue();
			client.sql("delete from copy where id = ?").param(id).update();
			client.sql("insert into seen values (0, ?, null, 'DELETE')").param(id).update();
			return;
		}
		long source = (change.backfill() != null) ? change.backfill() : 0;
		check(client, change, thing, (source == 0) ? "select count(*) from seen where id = :id and version = :version"
				: "select count(*) from seen where source = :source and id = :id", source, "comes twice");
		check(client, change, thing, "select count(*) from highest where id = :id and version > :version", source,
				"goes back");
		client.sql("insert into seen values (?, ?, ?, ?)")
			.params(source, thing.id(), thing.version(), change.operation().name())
			.update();
		client.sql("""
				insert into highest as h values (?, ?) on conflict (id) do update
				set version = greatest(h.version, excluded.version)""").params(thing.id(), thing.version()).update();
		client.sql("""
				insert into copy values (?, ?, ?) on conflict (id) do update
				set version = excluded.version, name = excluded.name""")
			.params(thing.id(), thing.version(), thing.name())
			.update();
		if (ThreadLocalRandom.current().nextInt(40) == 0) {
			throw new IllegalStateException("A bad day");
		}
	}

	private static void check(JdbcClient client, TableChange<Thing> change, Thing thing, String sql, long source,
			String what) {
		long found = client.sql(sql)
			.param("source", source)
			.param("id", thing.id())
			.param("version", thing.version())
			.query(Long.class)
			.single();
		if (found > 0) {
			client.sql("insert into violation values (?)")
				.param(change.operation() + " of " + thing + " from " + source + " " + what)
				.update();
		}
	}

	/** Inserts, updates, deletes and changes keys, so many times. */
	void change(int changes) {
		Random random = ThreadLocalRandom.current();
		for (int n = 0; n < changes; n++) {
			long id = random.nextInt(this.keys) - 50;
			try {
				switch (random.nextInt(10)) {
					case 0, 1 ->
						this.jdbc.sql("insert into thing values (?, nextval('number'), 'new')").param(id).update();
					case 2 -> this.jdbc.sql("delete from thing where id = ?").param(id).update();
					case 3, 4 -> this.jdbc.sql("update thing set id = ?, version = nextval('number') where id = ?")
						.params(random.nextInt(this.keys) - 50, id)
						.update();
					default -> this.jdbc.sql("update thing set version = nextval('number'), name = ? where id = ?")
						.params("name " + n, id)
						.update();
				}
			}
			catch (DataAccessException ex) {
				assertThat(ex).hasMessageContaining("thing_pkey");
			}
		}
	}

	List<String> rows(String table) {
		return this.jdbc.sql("select t::text from " + table + " t order by id").query(String.class).list();
	}

	List<String> violations() {
		return this.jdbc.sql("select what from violation").query(String.class).list();
	}

	record Thing(long id, long version, String name) {

	}

}
