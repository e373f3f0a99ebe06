package io.pgbus.autoconfigure;

import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.propagation.Propagator;
import io.pgbus.actuate.EventLinksObservationHandler;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;

/**
 * Auto-configuration of what traces of lists of events need. Those of single events need
 * nothing but Spring Boot's own.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = PgBusAutoConfiguration.class,
		afterName = "org.springframework.boot.micrometer.tracing.autoconfigure.MicrometerTracingAutoConfiguration")
@ConditionalOnClass({ Tracer.class, Propagator.class })
@ConditionalOnBean({ Tracer.class, Propagator.class })
public final class PgBusTracingAutoConfiguration {

	/** Before the handler of all receivers, as the first that supports a context wins. */
	private static final int ORDER = 900;

	@Bean
	@ConditionalOnMissingBean
	@Order(ORDER)
	EventLinksObservationHandler pgBusEventLinksObservationHandler(Tracer tracer, Propagator propagator) {
		return new EventLinksObservationHandler(tracer, propagator);
	}

}
