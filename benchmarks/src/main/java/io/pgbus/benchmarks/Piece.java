package io.pgbus.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.jspecify.annotations.Nullable;

/**
 * Something that is measured on several sides: the first of them is the bus, and is
 * compared with each of the others.
 *
 * @param id the id
 * @param title what is done
 * @param sides the sides' names, by which {@link Sides} knows them
 * @param aims the ratio to another side that the bus is to have at least, or at most
 * where less is better, by the other side's name and the metric
 */
record Piece(String id, String title, List<String> sides, Map<Versus, Double> aims) {

	static Piece of(String id, String title, String... sides) {
		return new Piece(id, title, List.of(sides), Map.of());
	}

	Piece and(String... others) {
		List<String> all = new ArrayList<>(this.sides);
		all.addAll(List.of(others));
		return new Piece(this.id, this.title, all, this.aims);
	}

	Piece aim(String other, Metric metric, double ratio) {
		Map<Versus, Double> all = new TreeMap<>(this.aims);
		all.put(new Versus(other, metric), ratio);
		return new Piece(this.id, this.title, this.sides, all);
	}

	@Nullable Double aim(String other, Metric metric) {
		return this.aims.get(new Versus(other, metric));
	}

	/**
	 * All pieces, in the order of the report.
	 * @return the pieces
	 */
	static List<Piece> all() {
		List<Piece> all = new ArrayList<>();
		String[] outboxes = { "spring modulith", "spring integration", "db-scheduler", "transaction-outbox",
				"namastack-outbox" };
		String[] peers = { "spring modulith", "spring integration", "db-scheduler", "transaction-outbox",
				"namastack-outbox", "redis streams", "kafka" };
		all.add(of("a1", "publish, one event per transaction, 1 connection", "pgbus", "limit").and(peers)
			.aim("limit", Metric.PUBLISHED, 0.9));
		all.add(of("a8", "publish, one event per transaction, 8 connections", "pgbus", "limit").and(peers)
			.aim("limit", Metric.PUBLISHED, 0.9));
		all.add(of("b", "publish, 1,000 events per transaction", "pgbus", "limit").and(peers)
			.aim("limit", Metric.PUBLISHED, 0.9));
		all.add(of("c1", "backlog, at least once, 1 worker", "pgbus", "limit").aim("limit", Metric.HANDLED, 0.6));
		Piece backlog = of("c8", "backlog, at least once, 8 workers", "pgbus", "limit").and(peers)
			.aim("limit", Metric.HANDLED, 0.6)
			.aim(Redis.NAME, Metric.HANDLED, 1);
		for (String outbox : outboxes) {
			backlog = backlog.aim(outbox, Metric.HANDLED, 10);
		}
		all.add(backlog);
		all.add(of("d1", "exactly once with an insert, 1 event per transaction, 1 worker", "pgbus", "update and commit",
				"limit")
			.aim("update and commit", Metric.HANDLED, 0.9));
		all.add(of("d50", "exactly once with an insert, 50 events per transaction, 1 worker", "pgbus",
				"update and commit", "limit")
			.aim("update and commit", Metric.HANDLED, 0.9));
		all.add(of("d8", "exactly once with an insert, 1 event per transaction, 8 workers", "pgbus", "limit",
				"spring integration", "transaction-outbox"));
		all.add(of("e100", "delay at 100 events/s, same instance", "pgbus", "notify").and(peers)
			.aim("notify", Metric.DELAY_P50, 2));
		all.add(of("e1000", "delay at 1,000 events/s, same instance", "pgbus", "notify")
			.and("spring integration", "redis streams", "kafka")
			.aim("notify", Metric.DELAY_P50, 2));
		all.add(of("e100i", "delay at 100 events/s, another instance", "pgbus, another instance", "notify")
			.aim("notify", Metric.DELAY_P50, 2));
		all.add(of("e1000i", "delay at 1,000 events/s, another instance", "pgbus, another instance", "notify")
			.aim("notify", Metric.DELAY_P50, 2));
		all.add(of("f", "fan-out, 8 partitions, published 100 per transaction", "20 groups", "1 group", "5 groups")
			.aim("1 group", Metric.WAL, 1.1));
		all.add(of("g", "idle: 50 groups of 8 partitions, peers with one listener", "pgbus", "the aim",
				"spring integration", "db-scheduler", "namastack-outbox")
			.aim("the aim", Metric.STATEMENTS, 1));
		all.add(of("h", "key order, 16 partitions, 16 workers", "2 instances", "1 instance"));
		all.add(of("i", "backlog growth, as c8", "pgbus", "small backlog").aim("small backlog", Metric.HANDLED, 0.9));
		all.add(of("j", "table changes", "pgbus", "bare stream", "debezium").aim("bare stream", Metric.HANDLED, 0.5)
			.aim("debezium", Metric.HANDLED, 3));
		all.add(of("j100", "table changes, delay at 100 rows/s", "pgbus", "bare stream", "debezium"));
		all.add(of("k", "backfill", "pgbus", "select and parse", "debezium"));
		return all;
	}

	/**
	 * Another side, and what is compared.
	 *
	 * @param side the side
	 * @param metric the metric
	 */
	record Versus(String side, Metric metric) implements Comparable<Versus> {

		@Override
		public int compareTo(Versus other) {
			int order = this.side.compareTo(other.side);
			return (order != 0) ? order : this.metric.compareTo(other.metric);
		}

	}

}
