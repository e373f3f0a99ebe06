package io.pgbus.annotation;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;

import io.pgbus.Acknowledgment;
import io.pgbus.PgBusException;
import io.pgbus.annotation.PayloadParameter.Carrier;
import io.pgbus.core.EventConverter;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.MethodParameter;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotatedMethod;
import org.springframework.format.support.DefaultFormattingConversionService;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.messaging.handler.annotation.support.HeaderMethodArgumentResolver;
import org.springframework.messaging.handler.annotation.support.HeadersMethodArgumentResolver;
import org.springframework.messaging.handler.invocation.HandlerMethodArgumentResolver;
import org.springframework.scheduling.annotation.Async;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;
import org.springframework.validation.Validator;

/**
 * Checks the signatures of listener methods and makes them callable.
 */
final class ListenerMethodFactory {

	private final EventConverter converter;

	private final ObjectProvider<Validator> validators;

	private final List<HandlerMethodArgumentResolver> headers;

	private final ParameterNameDiscoverer names = new DefaultParameterNameDiscoverer();

	ListenerMethodFactory(ConfigurableBeanFactory beanFactory, EventConverter converter) {
		this.converter = converter;
		this.validators = beanFactory.getBeanProvider(Validator.class);
		this.headers = List.of(new HeaderMethodArgumentResolver(new DefaultFormattingConversionService(), beanFactory),
				new HeadersMethodArgumentResolver());
	}

	/**
	 * Makes a method callable.
	 * @param bean the bean as other beans see it, perhaps a proxy
	 * @param declared the class with the annotations
	 * @param method the method as the class has it
	 * @param batch whether it takes lists
	 */
	ListenerMethod create(Object bean, ListenerClass declared, Method method, boolean batch) {
		String listener = declared.describe(method);
		Method invocable = invocable(bean, method, listener);
		boolean staged = returnsStage(method, declared.type(), listener);
		List<Argument> arguments = new ArrayList<>();
		List<PayloadParameter> carriers = new ArrayList<>();
		boolean acknowledged = false;
		// Annotations of parameters are found on overridden and interface methods too.
		for (MethodParameter parameter : new AnnotatedMethod(method).getMethodParameters()) {
			parameter.initParameterNameDiscovery(this.names);
			HandlerMethodArgumentResolver resolver = headerResolver(parameter, batch, listener);
			if (resolver != null) {
				arguments.add(Argument.ofHeaders(parameter, resolver));
			}
			else if (parameter.getParameterType() == Acknowledgment.class) {
				acknowledged = true;
				arguments.add(Delivery::acknowledgment);
			}
			else {
				PayloadParameter carrier = PayloadParameter.of(parameter, declared.type(), batch, listener);
				carriers.add(carrier);
				arguments.add(new PayloadArgument(carrier, carrier.type(),
						PayloadValidation.of(parameter, this.validators, listener)));
			}
		}
		requireOnePayload(carriers, batch, listener);
		if (acknowledged && staged) {
			throw new PgBusException(listener + " takes an Acknowledgment and returns a CompletionStage, so that it is "
					+ "not clear which says that an event is handled. Use one of them.");
		}
		PayloadParameter chooser = carriers.stream()
			.filter((carrier) -> !carrier.takesAnything())
			.findFirst()
			.orElse(null);
		if (chooser != null) {
			// Event<?> beside the payload means the same payload
			arguments.replaceAll((argument) -> adopt(argument, chooser));
		}
		return new ListenerMethod(bean, invocable, listener, List.copyOf(arguments),
				(chooser != null) ? chooser.type() : null, acknowledged, staged, this.converter);
	}

	private static Argument adopt(Argument argument, PayloadParameter chooser) {
		return (argument instanceof PayloadArgument payload && payload.parameter().takesAnything())
				? new PayloadArgument(payload.parameter(), chooser.type(), payload.validation()) : argument;
	}

	/** The counterpart of the method in the class of the bean, which may be a proxy. */
	private static Method invocable(Object bean, Method method, String listener) {
		Method invocable;
		try {
			invocable = AopUtils.selectInvocableMethod(method, bean.getClass());
		}
		catch (IllegalStateException ex) {
			throw new PgBusException(listener + " cannot be called on the proxy of its bean: " + ex.getMessage(), ex);
		}
		if (AopUtils.isCglibProxy(bean) && Modifier.isFinal(method.getModifiers())
				&& !Modifier.isStatic(method.getModifiers())) {
			throw new PgBusException(listener + " is final, so that the proxy of its bean cannot pass the call on and "
					+ "the method would run without the bean's fields. Remove \"final\".");
		}
		ReflectionUtils.makeAccessible(invocable);
		return invocable;
	}

	private static boolean returnsStage(Method method, Class<?> beanType, String listener) {
		Class<?> returned = new MethodParameter(method, -1).withContainingClass(beanType).getParameterType();
		if (CompletionStage.class.isAssignableFrom(returned)) {
			return true;
		}
		if (ClassUtils.isVoidType(returned)) {
			if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
					|| AnnotatedElementUtils.hasAnnotation(beanType, Async.class)) {
				throw new PgBusException(listener + " is @Async and returns nothing, so that events would count as "
						+ "handled before they are, and failures be lost. Return a CompletableFuture.");
			}
			return false;
		}
		throw new PgBusException(listener + " returns " + returned.getName()
				+ ", but nobody receives it. Return nothing, or a CompletionStage to finish asynchronously.");
	}

	private @Nullable HandlerMethodArgumentResolver headerResolver(MethodParameter parameter, boolean batch,
			String listener) {
		for (HandlerMethodArgumentResolver resolver : this.headers) {
			if (resolver.supportsParameter(parameter)) {
				if (batch) {
					throw new PgBusException(listener + " takes headers, but each event of a batch has its own. "
							+ "Take a List of Event or of Message instead.");
				}
				return resolver;
			}
		}
		if (parameter.hasParameterAnnotation(Headers.class)) {
			throw new PgBusException(listener + " has a parameter with @Headers that is no Map. Make it one.");
		}
		return null;
	}

	private static void requireOnePayload(List<PayloadParameter> carriers, boolean batch, String listener) {
		if (carriers.stream().filter((carrier) -> carrier.carrier() == Carrier.PAYLOAD).count() > 1) {
			throw new PgBusException(listener + " has more than one parameter for the payload. Annotate those that are "
					+ "headers with @Header, and take everything else from Event.");
		}
		if (batch && carriers.isEmpty()) {
			throw new PgBusException(listener + " has batch = \"true\", but no parameter for the events. "
					+ "Take a List of payloads, of Event or of Message.");
		}
	}

}
