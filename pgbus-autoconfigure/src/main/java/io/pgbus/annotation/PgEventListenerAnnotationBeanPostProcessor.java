package io.pgbus.annotation;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import io.pgbus.EventTypeResolver;
import io.pgbus.PgBusException;
import io.pgbus.core.EventConverter;
import io.pgbus.listener.ConfiguredTables;
import io.pgbus.listener.ListenerDefaults;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.util.Assert;

/**
 * Registers the listeners that {@link PgEventListener} and {@link PgTableListener}
 * declare with the {@link PgListenerContainerRegistry}. It takes that, an
 * {@link EventConverter}, an {@link EventTypeResolver} and, if there are any, a
 * {@link ListenerDefaults} and {@link ConfiguredTables} from the bean factory when it
 * registers the first listener, never earlier.
 * <p>
 * It has no order on purpose: post-processors without one come after those with one, so
 * it sees beans with all their proxies.
 *
 * @since 0.1.0
 */
public class PgEventListenerAnnotationBeanPostProcessor
		implements BeanPostProcessor, SmartInitializingSingleton, BeanFactoryAware {

	private final ListenerScanner scanner = new ListenerScanner();

	/** By listener id, what has it. */
	private final Map<String, String> registered = new ConcurrentHashMap<>();

	private List<Found> waiting = new ArrayList<>();

	private boolean singletonsInstantiated;

	private @Nullable ConfigurableBeanFactory beanFactory;

	private volatile @Nullable EndpointFactory endpoints;

	/**
	 * Creates a post-processor.
	 */
	public PgEventListenerAnnotationBeanPostProcessor() {
	}

	/**
	 * Tells whether the beans of a class have listeners, for instance to keep them from
	 * being made lazily where everything is.
	 * @param type the class
	 * @return whether it, or one of its methods, is annotated
	 */
	public static boolean hasListeners(Class<?> type) {
		return new ListenerScanner().scan(type) != null;
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		this.beanFactory = (ConfigurableBeanFactory) beanFactory;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		ListenerClass declared = this.scanner.scan(AopProxyUtils.ultimateTargetClass(bean));
		if (declared == null) {
			return bean;
		}
		if (ScopedProxyUtils.isScopedTarget(beanName)) {
			// The proxy is the listener, since it outlives this instance. It is made here
			// in case that nobody else asks for it.
			requireBeanFactory().getBean(ScopedProxyUtils.getOriginalBeanName(beanName));
			return bean;
		}
		Found found = new Found(bean, beanName, declared);
		if (!defer(found)) {
			register(found, bean);
		}
		return bean;
	}

	private synchronized boolean defer(Found found) {
		return !this.singletonsInstantiated && this.waiting.add(found);
	}

	@Override
	public void afterSingletonsInstantiated() {
		List<Found> found;
		synchronized (this) {
			this.singletonsInstantiated = true;
			found = this.waiting;
			this.waiting = new ArrayList<>();
		}
		found.forEach((each) -> register(each, exposed(each)));
	}

	/**
	 * The bean that others see: in a circle of references it gets its proxy before, and
	 * not from, the last post-processor.
	 */
	private Object exposed(Found found) {
		ConfigurableBeanFactory beanFactory = requireBeanFactory();
		String name = found.beanName();
		if (!beanFactory.containsBean(name) || !beanFactory.isSingleton(name)) {
			return found.bean();
		}
		Object exposed = beanFactory.getBean(name);
		// The name of a factory is also the name of its product.
		return (AopProxyUtils.ultimateTargetClass(exposed) == found.declared().type()) ? exposed : found.bean();
	}

	/** Holds no lock: it asks the bean factory, which has its own, for beans. */
	private void register(Found found, Object bean) {
		ListenerClass declared = found.declared();
		EndpointFactory endpoints = endpoints();
		if (declared.listeners().isEmpty() && !declared.handlers().isEmpty()) {
			throw new PgBusException(declared.type().getName() + " has a method with @PgEventHandler, but the class "
					+ "has no @PgEventListener. Add that to the class, or to the method in place of @PgEventHandler.");
		}
		declared.listeners()
			.forEach((listener) -> register(endpoints.ofClass(listener, bean, declared), declared.type().getName()));
		declared.methods()
			.forEach((method, listeners) -> listeners
				.forEach((listener) -> register(endpoints.ofMethod(listener, bean, declared, method),
						declared.describe(method))));
	}

	private void register(PgListenerEndpoint endpoint, String description) {
		PgListenerContainerRegistry registry = requireBeanFactory().getBean(PgListenerContainerRegistry.class);
		String other = this.registered.get(endpoint.id());
		if (other != null && registry.find(endpoint.id()) != null) {
			throw new PgBusException("Two listeners have the id \"" + endpoint.id() + "\": " + other + " and "
					+ description + ". "
					+ (other.equals(description)
							? "Make its bean a singleton of which there is one, or give each listener an id of its own."
							: "Set the attribute \"id\" of one of them; by default it is the group."));
		}
		try {
			registry.register(endpoint);
		}
		catch (IllegalArgumentException ex) {
			throw new PgBusException(description + " cannot be registered: " + ex.getMessage(), ex);
		}
		this.registered.put(endpoint.id(), description);
	}

	private EndpointFactory endpoints() {
		EndpointFactory endpoints = this.endpoints;
		if (endpoints == null) {
			ConfigurableBeanFactory beanFactory = requireBeanFactory();
			endpoints = new EndpointFactory(beanFactory,
					beanFactory.getBeanProvider(ListenerDefaults.class).getIfAvailable(() -> ListenerDefaults.DEFAULT),
					new ListenerMethodFactory(beanFactory, beanFactory.getBean(EventConverter.class)),
					new HandlerTypes(beanFactory.getBean(EventTypeResolver.class)),
					new TableListeners(beanFactory.getBeanProvider(ConfiguredTables.class)
						.getIfAvailable(() -> ConfiguredTables.NONE)));
			this.endpoints = endpoints;
		}
		return endpoints;
	}

	private ConfigurableBeanFactory requireBeanFactory() {
		Assert.state(this.beanFactory != null, "The bean factory has not been set");
		return this.beanFactory;
	}

	private record Found(Object bean, String beanName, ListenerClass declared) {
	}

}
