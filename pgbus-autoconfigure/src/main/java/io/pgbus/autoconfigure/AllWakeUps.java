package io.pgbus.autoconfigure;

import java.util.List;
import java.util.function.Supplier;

import io.pgbus.core.WakeUps;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.util.function.SingletonSupplier;

/**
 * All that want to be told of events. They are looked up at the first event, as they may
 * need who publishes, and once.
 */
final class AllWakeUps implements WakeUps {

	private final Supplier<List<WakeUps>> all;

	AllWakeUps(ObjectProvider<WakeUps> wakeUps) {
		this.all = SingletonSupplier.of(() -> wakeUps.orderedStream().toList());
	}

	@Override
	public void published(int streamId) {
		this.all.get().forEach((each) -> each.published(streamId));
	}

}
