package io.pgbus.annotation;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

import io.pgbus.PgBusException;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Test;

import org.springframework.aop.framework.autoproxy.BeanNameAutoProxyCreator;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.messaging.handler.annotation.Header;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class PgEventListenerProxiesTests {

	@Test
	void callsTheMethodThroughASubclassProxy() throws Exception {
		try (ListenerContext context = ListenerContext.with(proxied(true, PackageMethod.class))) {
			context.registry().deliver("billing", "x", "\"a\"");
			assertThat(context.bean(PackageMethod.class).values()).containsExactly("a");
			assertThat(context.bean(Calls.class).names).contains("on");
		}
	}

	@Test
	void callsTheMethodThroughAnInterfaceProxyAndKeepsItsParameterAnnotations() throws Exception {
		try (ListenerContext context = ListenerContext.with(proxied(false, InterfaceMethod.class))) {
			context.registry().deliver("billing", List.of(context.registry().event("x", "{}", Map.of("tenant", "t"))));
			assertThat(context.bean(Calls.class).names).containsExactly("on");
			assertThat(InterfaceMethod.TENANTS).endsWith("t");
		}
	}

	@Test
	void refusesAPrivateMethodOfAProxiedBean() {
		assertThatExceptionOfType(PgBusException.class)
			.isThrownBy(() -> ListenerContext.with(proxied(true, PgEventListenerBeansTests.PrivateMethod.class)))
			.withMessageContaining("PrivateMethod.on(String) cannot be called on the proxy of its bean")
			.withMessageContaining("visibility");
	}

	@Test
	void refusesAFinalMethodOfAProxiedBean() {
		assertThatExceptionOfType(PgBusException.class)
			.isThrownBy(() -> ListenerContext.with(proxied(true, FinalMethod.class)))
			.withMessageContaining("FinalMethod.on(String) is final")
			.withMessageContaining("Remove \"final\"");
	}

	@Test
	void refusesAMethodThatAnInterfaceProxyDoesNotHave() {
		assertThatExceptionOfType(PgBusException.class)
			.isThrownBy(() -> ListenerContext.with(proxied(false, NotInInterface.class)))
			.withMessageContaining("NotInInterface.other(String) cannot be called on the proxy of its bean")
			.withMessageContaining("pull the method up to an interface");
	}

	@Test
	void callsTheProxyThatOthersSeeInACircleOfReferences() throws Exception {
		try (ListenerContext context = ListenerContext.with(proxied(true, CircleOne.class, CircleTwo.class))) {
			context.bean(Calls.class).names.clear();
			context.registry().deliver("circle-one", "x", "\"a\"");
			context.registry().deliver("circle-two", "x", "\"a\"");
			assertThat(context.bean(Calls.class).names).containsExactly("on", "on");
		}
	}

	private static Consumer<AnnotationConfigApplicationContext> proxied(boolean subclass, Class<?>... beans) {
		return (context) -> {
			context.registerBean(Calls.class);
			context.registerBean(BeanNameAutoProxyCreator.class, () -> {
				BeanNameAutoProxyCreator creator = new BeanNameAutoProxyCreator();
				creator.setBeanNames("listener*");
				creator.setInterceptorNames("interceptor");
				creator.setProxyTargetClass(subclass);
				return creator;
			});
			context.registerBean("interceptor", MethodInterceptor.class, () -> (invocation) -> {
				context.getBean(Calls.class).names.add(invocation.getMethod().getName());
				return invocation.proceed();
			});
			for (int i = 0; i < beans.length; i++) {
				context.registerBean("listener" + i, beans[i]);
			}
		};
	}

	static class Calls {

		final List<String> names = new ArrayList<>();

	}

	static class PackageMethod extends ListenerContext.Received {

		@PgEventListener(streams = "orders", group = "billing")
		void on(String payload) {
			add(payload);
		}

		List<Object> values() {
			return this.values;
		}

	}

	static class FinalMethod extends ListenerContext.Received {

		@PgEventListener(streams = "orders", group = "billing")
		final void on(String payload) {
			add(payload);
		}

	}

	interface Contract {

		void on(String payload, String tenant);

	}

	static class InterfaceMethod implements Contract {

		static final List<String> TENANTS = new CopyOnWriteArrayList<>();

		@Override
		@PgEventListener(streams = "orders", group = "billing")
		public void on(String payload, @Header("tenant") String tenant) {
			TENANTS.add(tenant);
		}

	}

	static class NotInInterface implements UnaryOperator<String> {

		@Override
		public String apply(String value) {
			return value;
		}

		@PgEventListener(streams = "orders", group = "billing")
		public void other(String payload) {
		}

	}

	static class CircleOne extends ListenerContext.Received {

		@Autowired
		CircleTwo other;

		@PgEventListener(streams = "orders", group = "circle-one")
		public void on(String payload) {
		}

	}

	static class CircleTwo extends ListenerContext.Received {

		@Autowired
		CircleOne other;

		@PgEventListener(streams = "orders", group = "circle-two")
		public void on(String payload) {
		}

	}

}
