package io.pgbus.annotation;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.LinkedHashSet;
import java.util.Set;

import io.pgbus.Acknowledgment;
import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.support.RegisteredBean;
import org.springframework.core.GenericTypeResolver;
import org.springframework.core.MethodParameter;
import org.springframework.core.annotation.AnnotatedMethod;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.util.ClassUtils;

/**
 * Lets a native image call the listener methods of a bean, and make their payloads.
 */
class ListenerAotProcessor implements BeanRegistrationAotProcessor {

	private final ListenerScanner scanner = new ListenerScanner();

	@Override
	public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean bean) {
		ListenerClass declared = this.scanner.scan(ClassUtils.getUserClass(bean.getBeanClass()));
		return (declared != null) ? (context, code) -> registerHints(declared, context.getRuntimeHints().reflection())
				: null;
	}

	private static void registerHints(ListenerClass declared, ReflectionHints hints) {
		Set<Method> methods = new LinkedHashSet<>(declared.methods().keySet());
		methods.addAll(declared.handlers().keySet());
		for (Method method : methods) {
			hints.registerMethod(method, ExecutableMode.INVOKE);
			// the one to call where the bean has a proxy by interfaces
			Method ofInterface = ClassUtils.getInterfaceMethodIfPossible(method, declared.type());
			hints.registerMethod(ofInterface, ExecutableMode.INVOKE);
			for (MethodParameter parameter : new AnnotatedMethod(method).getMethodParameters()) {
				if (carriesPayload(parameter)) {
					// What a payload comes in, such as an Event, is registered with it,
					// which does no harm.
					Type type = GenericTypeResolver.resolveType(parameter.getGenericParameterType(), declared.type());
					new BindingReflectionHintsRegistrar().registerReflectionHints(hints, type);
				}
			}
		}
	}

	private static boolean carriesPayload(MethodParameter parameter) {
		return parameter.getParameterType() != Acknowledgment.class && !parameter.hasParameterAnnotation(Header.class)
				&& !parameter.hasParameterAnnotation(Headers.class);
	}

}
