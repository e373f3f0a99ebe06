package io.pgbus.annotation;

import java.lang.reflect.Method;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

import io.pgbus.DeliveryMode;
import io.pgbus.EventErrorHandler;
import io.pgbus.ListenedTable;
import io.pgbus.PgBusException;
import io.pgbus.RetryPolicy;
import io.pgbus.RetryPolicy.OnDead;
import io.pgbus.StartPosition;
import io.pgbus.listener.EventHandler;
import io.pgbus.listener.ListenerDefaults;
import io.pgbus.listener.PgListenerEndpoint;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.ConfigurableBeanFactory;

/**
 * Turns annotations into endpoints.
 */
final class EndpointFactory {

	private static final String DEFAULT_GROUP = "pgbus.listener.group";

	private static final String DEFAULT_AUTO_STARTUP = "pgbus.listener.auto-startup";

	private final ConfigurableBeanFactory beanFactory;

	private final ListenerDefaults defaults;

	private final ListenerMethodFactory methods;

	private final HandlerTypes types;

	private final TableListeners tables;

	EndpointFactory(ConfigurableBeanFactory beanFactory, ListenerDefaults defaults, ListenerMethodFactory methods,
			HandlerTypes types, TableListeners tables) {
		this.beanFactory = beanFactory;
		this.defaults = defaults;
		this.methods = methods;
		this.types = types;
		this.tables = tables;
	}

	/** Makes the endpoint of one annotation of a method. */
	PgListenerEndpoint ofMethod(DeclaredListener declaration, Object bean, ListenerClass declared, Method method) {
		PgEventListener annotation = declaration.common();
		String listener = declared.describe(method);
		Attributes attributes = new Attributes(this.beanFactory, bean, listener);
		boolean batch = attributes.flag("batch", annotation.batch(), false);
		ListenerMethod handler = this.methods.create(bean, declared, method, batch);
		if (declaration.tables() != null) {
			TableListeners.check(handler);
			return endpoint(declaration, attributes, listener, handler, handler.asynchronous(), batch, null);
		}
		Set<String> types = types(annotation, attributes);
		return endpoint(declaration, attributes, listener, handler, handler.asynchronous(), batch,
				(types != null) ? types : this.types.of(handler));
	}

	/** Makes the endpoint of one annotation of a class. */
	PgListenerEndpoint ofClass(DeclaredListener declaration, Object bean, ListenerClass declared) {
		PgEventListener annotation = declaration.common();
		String listener = declared.type().getName();
		Attributes attributes = new Attributes(this.beanFactory, bean, listener);
		if (attributes.flag("batch", annotation.batch(), false)) {
			throw new PgBusException(listener + " has batch = \"true\", but a list may have events for several of its "
					+ "methods. Annotate a method that takes lists with @PgEventListener instead.");
		}
		if (declaration.tables() != null) {
			TableRouter router = this.tables.router(declaration.tables(), declared, attributes,
					(method) -> this.methods.create(bean, declared, method, false));
			return endpoint(declaration, attributes, listener, router, router.asynchronous(), false, null);
		}
		TypeRouter router = this.types.router(declared, (method) -> this.methods.create(bean, declared, method, false));
		Set<String> types = types(annotation, attributes);
		if (types != null && router.defaultMethod() == null && !router.methods().keySet().containsAll(types)) {
			throw new PgBusException(listener + " names the types " + types + ", but has methods only for "
					+ router.methods().keySet() + ". Add a method with @PgEventHandler for each, or a default one.");
		}
		if (types == null && router.defaultMethod() == null) {
			types = router.methods().keySet();
		}
		return endpoint(declaration, attributes, listener, router, router.asynchronous(), false, types);
	}

	private PgListenerEndpoint endpoint(DeclaredListener declaration, Attributes attributes, String listener,
			EventHandler handler, boolean asynchronous, boolean batch, @Nullable Set<String> types) {
		PgEventListener annotation = declaration.common();
		PgTableListener ofTables = declaration.tables();
		String group = group(annotation, attributes, listener);
		String id = attributes.text("id", annotation.id());
		try {
			return PgListenerEndpoint.id((id != null) ? id : group)
				.group(group)
				.streams(attributes.names("streams", annotation.streams()).toArray(String[]::new))
				.tables((ofTables != null)
						? this.tables.tables(ofTables, group, attributes, listener).toArray(ListenedTable[]::new)
						: new ListenedTable[0])
				.types(types)
				.filter(attributes.text("filter", annotation.filter()))
				.concurrency(attributes.integer("concurrency", annotation.concurrency()))
				.start(attributes.read("start", annotation.start(), StartPosition.class, StartPosition::parse,
						"latest, earliest, an ISO-8601 instant or an event id"))
				.delivery(attributes.choice("delivery", annotation.delivery(), DeliveryMode.class))
				.batch(batch)
				.asynchronous(asynchronous)
				.autoStartup(attributes.flag("autoStartup", annotation.autoStartup(),
						attributes.flag(DEFAULT_AUTO_STARTUP, "${" + DEFAULT_AUTO_STARTUP + ":}", true)))
				.retry(retry(annotation, attributes))
				.errorHandler(attributes.read("errorHandler", annotation.errorHandler(), EventErrorHandler.class,
						(name) -> this.beanFactory.getBean(name, EventErrorHandler.class),
						"the name of a bean that is an EventErrorHandler"))
				.handler(null, handler);
		}
		catch (IllegalArgumentException ex) {
			throw new PgBusException(listener + " makes no listener. " + ex.getMessage(), ex);
		}
	}

	private String group(PgEventListener annotation, Attributes attributes, String listener) {
		String group = attributes.text("group", annotation.group());
		if (group == null) {
			group = attributes.text("group", "${" + DEFAULT_GROUP + ":}");
		}
		if (group == null) {
			throw new PgBusException(listener + " has no consumer group, under which it finds its place in the streams "
					+ "again after a restart. Set the attribute \"group\", or the property " + DEFAULT_GROUP + ".");
		}
		return group;
	}

	private static @Nullable Set<String> types(PgEventListener annotation, Attributes attributes) {
		List<String> types = attributes.names("types", annotation.types());
		return types.isEmpty() ? null : new LinkedHashSet<>(types);
	}

	/** The listener's own policy, or {@code null} if it says nothing. */
	private @Nullable RetryPolicy retry(PgEventListener annotation, Attributes attributes) {
		RetryPolicy fallback = this.defaults.retry();
		BackOff backOff = annotation.backOff();
		RetryPolicy retry = new RetryPolicy(
				or(attributes.integer("attempts", annotation.attempts()), fallback.attempts()),
				or(attributes.duration("backOff.delay", backOff.delay()), fallback.backOff()),
				or(attributes.decimal("backOff.multiplier", backOff.multiplier()), fallback.multiplier()),
				or(attributes.duration("backOff.maxDelay", backOff.maxDelay()), fallback.maxBackOff()),
				or(attributes.decimal("backOff.jitter", backOff.jitter()), fallback.jitter()), fallback.notRetried(),
				or(attributes.choice("onDead", annotation.onDead(), OnDead.class), fallback.onDead()));
		return retry.equals(fallback) ? null : retry;
	}

	private static <T> T or(@Nullable T value, T defaultValue) {
		return (value != null) ? value : defaultValue;
	}

}
