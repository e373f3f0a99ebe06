package io.pgbus.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.tracing.Tracer;
import io.pgbus.core.PublisherInstruments;
import io.pgbus.core.PublisherMetrics;
import io.pgbus.listener.ListenerInstruments;
import io.pgbus.listener.ListenerMetrics;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An application that has neither meters, nor a tracer, nor a registry for observations.
 */
class WithoutMicrometerIntegrationTests {

	@Test
	void theBusWorksAndNothingWatchesIt() {
		try (TestDatabase database = TestDatabase.create()) {
			BusApplication.on(database)
				.withConfiguration(
						AutoConfigurations.of(PgBusMetricsAutoConfiguration.class, PgBusTracingAutoConfiguration.class))
				.withClassLoader(
						new FilteredClassLoader(MeterRegistry.class.getPackageName(), Tracer.class.getPackageName()))
				.run((context) -> {
					assertThat(context).hasNotFailed()
						.doesNotHaveBean(PgBusMetricsAutoConfiguration.class)
						.doesNotHaveBean(PgBusTracingAutoConfiguration.class);
					assertThat(context.getBean(PublisherInstruments.class)).isEqualTo(PublisherInstruments.NONE);
					assertThat(context.getBean(ListenerInstruments.class)).satisfies((instruments) -> {
						assertThat(instruments.observations().isNoop()).isTrue();
						assertThat(instruments.metrics()).isSameAs(ListenerMetrics.NONE);
					});
					assertThat(context).doesNotHaveBean(PublisherMetrics.class);
					BusApplication.publishAndListen(context, 10);
				});
		}
	}

}
