package io.pgbus.benchmarks;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * An application of Spring Modulith's registry. What is imported is in a file, as some of
 * it is not public.
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration
class ModulithApplication {

	@Bean
	Modulith.State state() {
		return new Modulith.State();
	}

	@Bean
	Modulith.Listener listener(Modulith.State state) {
		return new Modulith.Listener(state);
	}

}
