package io.pgbus.actuate;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.pgbus.BackfillInfo;
import io.pgbus.BackfillInfo.State;

/**
 * Gauges of the backfills of every group that have not come to an end, wherever their
 * rows are read. As with {@link GroupGauges} all of them are read from one look at the
 * database. Several backfills of one table for one group count together.
 *
 * @since 0.1.0
 */
public class BackfillGauges implements MeterBinder {

	private static final List<State> UNFINISHED = List.of(State.WAITING, State.RUNNING, State.PAUSED, State.FAILED);

	private final TimedLook<Map<Target, List<BackfillInfo>>> look;

	private final List<Family> families = new ArrayList<>();

	/**
	 * Creates the gauges.
	 * @param database takes a look at the backfills that have not ended
	 * @param interval the time for which a look holds
	 */
	public BackfillGauges(Supplier<List<BackfillInfo>> database, Duration interval) {
		this.look = new TimedLook<>("backfills",
				() -> database.get().stream().collect(Collectors.groupingBy(Target::of)),
				(backfills) -> this.families.forEach((family) -> family.show(backfills.keySet())), interval);
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		this.look.betweenLooks(() -> this.families.add(new Family(registry)));
		for (State state : UNFINISHED) {
			Gauge.builder("pgbus.backfills", this, (gauges) -> gauges.count(state))
				.description("Backfills that have not come to an end")
				.tag("state", Meters.value(state))
				.strongReference(true)
				.register(registry);
		}
	}

	private double count(State state) {
		Map<Target, List<BackfillInfo>> backfills = this.look.get();
		return (backfills != null) ? backfills.values()
			.stream()
			.flatMap(List::stream)
			.filter((backfill) -> backfill.state() == state)
			.count() : Double.NaN;
	}

	private double read(Target target, Function<List<BackfillInfo>, Double> value) {
		Map<Target, List<BackfillInfo>> backfills = this.look.get();
		List<BackfillInfo> found = (backfills != null) ? backfills.get(target) : null;
		return (found != null) ? value.apply(found) : Double.NaN;
	}

	private static double rows(List<BackfillInfo> backfills) {
		return sum(backfills, BackfillInfo::rowsRead);
	}

	private static double share(List<BackfillInfo> backfills) {
		if (backfills.stream().anyMatch((backfill) -> backfill.share() == null)) {
			return Double.NaN;
		}
		double all = sum(backfills, (backfill) -> Objects.requireNonNullElse(backfill.estimatedRows(), 0L));
		return Math.min(1, rows(backfills) / all);
	}

	private static double rate(List<BackfillInfo> backfills) {
		return sum(backfills, (backfill) -> (backfill.state() == State.RUNNING)
				? Objects.requireNonNullElse(backfill.rowsPerSecond(), 0d) : 0);
	}

	private static double sum(List<BackfillInfo> backfills, ToDoubleFunction<BackfillInfo> value) {
		return backfills.stream().mapToDouble(value).sum();
	}

	/**
	 * Whose rows go where.
	 *
	 * @param group the name of the group
	 * @param table the table with its schema
	 */
	private record Target(String group, String table) {

		static Target of(BackfillInfo backfill) {
			return new Target(backfill.group(), backfill.table());
		}

	}

	/**
	 * The gauges in one registry.
	 */
	private final class Family {

		private final MultiGauge rows;

		private final MultiGauge share;

		private final MultiGauge rate;

		Family(MeterRegistry registry) {
			this.rows = MultiGauge.builder("pgbus.backfill.rows")
				.description("Rows that backfills have dealt with")
				.register(registry);
			this.share = MultiGauge.builder("pgbus.backfill.share")
				.description("Share of the rows that backfills have dealt with, an estimate")
				.register(registry);
			this.rate = MultiGauge.builder("pgbus.backfill.rate")
				.description("Rows a second that backfills have dealt with since they began")
				.register(registry);
		}

		void show(Collection<Target> targets) {
			register(this.rows, targets, BackfillGauges::rows);
			register(this.share, targets, BackfillGauges::share);
			register(this.rate, targets, BackfillGauges::rate);
		}

		private void register(MultiGauge gauge, Collection<Target> targets,
				Function<List<BackfillInfo>, Double> value) {
			gauge.register(targets.stream()
				.<Row<?>>map((target) -> Row.of(Tags.of("group", target.group(), "table", target.table()),
						() -> read(target, value)))
				.toList());
		}

	}

}
