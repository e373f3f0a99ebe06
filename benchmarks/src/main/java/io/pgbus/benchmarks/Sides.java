package io.pgbus.benchmarks;

import java.util.Map;

/**
 * Makes the sides of the pieces.
 */
final class Sides {

	private Sides() {
	}

	/**
	 * Makes a side.
	 * @param piece the piece's id
	 * @param name the side's name
	 * @param environment the environment
	 * @return the side
	 * @throws Exception if it cannot be made
	 */
	static Side create(String piece, String name, Environment environment) throws Exception {
		Scale scale = environment.scale();
		return switch (piece) {
			case "a1" -> new Publishing(technology(name, environment), 1, 1, scale.publishing());
			case "a8" -> new Publishing(technology(name, environment), 8, 1, scale.publishing());
			case "b" -> new Publishing(technology(name, environment), 1, 1000, scale.publishing());
			case "c1" -> new Backlog(technology(name, environment), Consumption.ofBacklog(1), backlog(name, scale));
			case "c8" -> new Backlog(technology(name, environment), Consumption.ofBacklog(8), backlog(name, scale));
			case "d1" -> new Backlog(technology(name, environment), Consumption.inserting(1, 1), scale.inserts());
			case "d50" ->
				new Backlog(technology(name, Map.of("pgbus.listener.events-per-transaction", 50), environment),
						Consumption.inserting(1, 50), scale.inserts() * 5);
			case "d8" -> new Backlog(technology(name, environment), Consumption.inserting(8, 1), scale.inserts());
			case "e100", "e100i" -> new Delay(technology(name, environment), 100, scale.delays());
			case "e1000", "e1000i" -> new Delay(technology(name, environment), 1000, scale.delays());
			case "f" -> new FanOut(environment, number(name), scale.fanOut());
			case "g" -> name.equals("the aim") ? new Idle.Aim(Map.of(Metric.STATEMENTS, 5.0)) : new Idle(environment,
					() -> technology(name, environment), name.equals("pgbus") ? 50 : 1, scale.idle());
			case "h" -> new KeyOrder(environment, number(name), scale.backlog() / 4);
			case "i" -> new Backlog(technology("pgbus", environment), Consumption.ofBacklog(8),
					name.equals("pgbus") ? scale.backlog() : scale.small());
			case "j" -> new Rows(changes(name, environment), scale.changes(), scale.changes(), 1);
			case "j100" -> new Delay(changes(name, environment), 100, scale.delays());
			case "k" -> new Rows(backfill(name, environment), scale.rows(), scale.rows(), 8);
			default -> throw new IllegalArgumentException("There is no piece " + piece);
		};
	}

	private static int number(String name) {
		return Integer.parseInt(name.replaceAll("\\D", ""));
	}

	private static Technology changes(String name, Environment environment) throws Exception {
		return switch (name) {
			case "pgbus" -> new Tables.PgbusChanges(environment);
			case "debezium" -> new DebeziumEngineSide(environment, false);
			case "bare stream" -> new Tables.BareStream(environment);
			default -> throw new IllegalArgumentException("There is no side " + name);
		};
	}

	private static Technology backfill(String name, Environment environment) throws Exception {
		return switch (name) {
			case "pgbus" -> new Tables.PgbusBackfill(environment);
			case "debezium" -> new DebeziumEngineSide(environment, true);
			case "select and parse" -> new Tables.BareSelect(environment);
			default -> throw new IllegalArgumentException("There is no side " + name);
		};
	}

	private static int backlog(String name, Scale scale) {
		return switch (name) {
			case "pgbus", "limit" -> scale.backlog();
			default -> scale.peerBacklog();
		};
	}

	private static Technology technology(String name, Environment environment) throws Exception {
		return technology(name, Map.of(), environment);
	}

	private static Technology technology(String name, Map<String, Object> properties, Environment environment)
			throws Exception {
		return switch (name) {
			case "pgbus" -> new Pgbus(environment, false, properties);
			case "pgbus, another instance" -> new Pgbus(environment, true, properties);
			case "limit" -> new Limit(environment);
			case "update and commit" -> new Limit.UpdateAndCommit(environment);
			case "spring integration" -> new SpringIntegration(environment);
			case "spring modulith" -> new Modulith(environment);
			case "db-scheduler" -> new DbScheduler(environment);
			case "transaction-outbox" -> new GruelboxOutbox(environment);
			case "namastack-outbox" -> new Namastack(environment);
			case Redis.NAME -> new RedisStreams(environment);
			case "kafka" -> new Kafka();
			case "notify" -> new Limit.Notifications(environment);
			default -> throw new IllegalArgumentException("There is no side " + name);
		};
	}

}
