package io.pgbus.store;

import java.sql.Connection;

import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/**
 * Gives a native image the scripts of the schema, and the proxies of
 * {@link AutoCommitDataSource}.
 */
class StoreRuntimeHints implements RuntimeHintsRegistrar {

	@Override
	public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
		hints.resources().registerPattern("io/pgbus/store/*.sql").registerPattern(SchemaScripts.LOCATION + "/*.sql");
		hints.proxies().registerJdkProxy(Connection.class);
		hints.reflection().registerType(Connection.class, MemberCategory.INVOKE_PUBLIC_METHODS);
	}

}
