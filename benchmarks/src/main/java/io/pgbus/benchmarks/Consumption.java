package io.pgbus.benchmarks;

/**
 * How events are to be handled.
 *
 * @param workers how many at a time
 * @param backlog whether with what was there before
 * @param inserts whether the handler inserts a row in its transaction, which then commits
 * once only with the event
 * @param eventsPerTransaction how many events share a transaction
 */
record Consumption(int workers, boolean backlog, boolean inserts, int eventsPerTransaction) {

	/** What the handler inserts into, where it does. */
	static final String TABLE = "create table if not exists effect (order_id bigint, total bigint)";

	static final String INSERT = "insert into effect (order_id, total) values (?, ?)";

	static Consumption ofBacklog(int workers) {
		return new Consumption(workers, true, false, 1);
	}

	static Consumption live(int workers) {
		return new Consumption(workers, false, false, 1);
	}

	static Consumption inserting(int workers, int eventsPerTransaction) {
		return new Consumption(workers, true, true, eventsPerTransaction);
	}

}
