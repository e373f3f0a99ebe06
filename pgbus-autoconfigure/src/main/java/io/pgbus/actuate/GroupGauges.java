package io.pgbus.actuate;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.pgbus.store.GroupStatus;
import io.pgbus.store.GroupStatus.FailureCounts;

/**
 * Gauges of every group of the bus, wherever its listeners run. All of them are read from
 * one look at the database, which holds for a while: a scrape of all gauges costs one
 * query, and more scrapes within that while none.
 * <p>
 * The look is taken when a gauge is read. The gauge {@code pgbus.groups} is always there;
 * those of a group that a look finds for the first time appear with the scrape after it,
 * and those of one that is gone disappear.
 *
 * @since 0.1.0
 */
public class GroupGauges implements MeterBinder {

	/** The time for which a look at the database holds by default. */
	public static final Duration DEFAULT_INTERVAL = Duration.ofSeconds(10);

	private final TimedLook<Map<String, GroupStatus>> look;

	private final List<Family> families = new ArrayList<>();

	/**
	 * Creates the gauges.
	 * @param database takes a look at the groups; of two with one name the first counts
	 * @param interval the time for which a look holds
	 */
	public GroupGauges(Supplier<List<GroupStatus>> database, Duration interval) {
		this.look = new TimedLook<>("groups",
				() -> database.get()
					.stream()
					.collect(Collectors.toMap(GroupStatus::group, Function.identity(), (first, second) -> first)),
				(groups) -> this.families.forEach((family) -> family.show(groups.values())), interval);
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		this.look.betweenLooks(() -> this.families.add(new Family(registry)));
		Gauge.builder("pgbus.groups", this, (gauges) -> gauges.read(Map::size))
			.description("Consumer groups")
			.strongReference(true)
			.register(registry);
	}

	private double read(String group, ToDoubleFunction<GroupStatus> value) {
		return read((groups) -> {
			GroupStatus status = groups.get(group);
			return (status != null) ? value.applyAsDouble(status) : Double.NaN;
		});
	}

	/** What the last look says; not a number if it failed. */
	private double read(ToDoubleFunction<Map<String, GroupStatus>> value) {
		Map<String, GroupStatus> groups = this.look.get();
		return (groups != null) ? value.applyAsDouble(groups) : Double.NaN;
	}

	/**
	 * The gauges in one registry.
	 */
	private final class Family {

		private final MultiGauge lag;

		private final MultiGauge oldest;

		private final MultiGauge failures;

		Family(MeterRegistry registry) {
			this.lag = MultiGauge.builder("pgbus.lag")
				.description("Events that wait for a group, an estimate")
				.register(registry);
			this.oldest = MultiGauge.builder("pgbus.oldest.age")
				.description("Age of the oldest event that waits for a group")
				.baseUnit("seconds")
				.register(registry);
			this.failures = MultiGauge.builder("pgbus.failures")
				.description("Events that a group failed to handle")
				.register(registry);
		}

		void show(Collection<GroupStatus> groups) {
			this.lag
				.register(groups.stream().map((group) -> row(group, Tags.empty(), GroupStatus::estimatedLag)).toList());
			this.oldest
				.register(groups.stream().map((group) -> row(group, Tags.empty(), GroupStatus::lagSeconds)).toList());
			this.failures.register(groups.stream()
				.flatMap((group) -> Stream.of(failures(group, "retrying", FailureCounts::retrying),
						failures(group, "held", FailureCounts::held), failures(group, "dead", FailureCounts::dead)))
				.toList());
		}

		private Row<?> failures(GroupStatus group, String state, ToDoubleFunction<FailureCounts> count) {
			return row(group, Tags.of("state", state), (status) -> count.applyAsDouble(status.failures()));
		}

		private Row<?> row(GroupStatus group, Tags tags, ToDoubleFunction<GroupStatus> value) {
			String name = group.group();
			return Row.of(tags.and("group", name), () -> read(name, value));
		}

	}

}
