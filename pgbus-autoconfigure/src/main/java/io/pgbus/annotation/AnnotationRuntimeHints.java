package io.pgbus.annotation;

import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/**
 * Lets a native image read annotations that others are composed of: where an attribute is
 * overridden they are proxies.
 */
class AnnotationRuntimeHints implements RuntimeHintsRegistrar {

	@Override
	public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
		hints.proxies()
			.registerJdkProxy(PgEventListener.class)
			.registerJdkProxy(PgTableListener.class)
			.registerJdkProxy(PgTable.class)
			.registerJdkProxy(PgEventHandler.class)
			.registerJdkProxy(BackOff.class);
	}

}
