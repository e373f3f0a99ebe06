package io.pgbus.annotation;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import io.pgbus.EventType;
import io.pgbus.PgBusException;
import io.pgbus.core.EventConverter;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerEndpoint;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.support.SimpleThreadScope;
import org.springframework.stereotype.Component;

import static io.pgbus.annotation.PgEventListenerAttributesTests.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class PgEventListenerBeansTests {

	@Test
	void callsPrivateMethodsOfPlainBeans() throws Exception {
		try (ListenerContext context = ListenerContext.of(PrivateMethod.class)) {
			context.registry().deliver("billing", "x", "\"a\"");
			assertThat(context.bean(PrivateMethod.class).values).containsExactly("a");
		}
	}

	@Test
	void callsStaticMethods() throws Exception {
		try (ListenerContext context = ListenerContext.of(StaticMethod.class)) {
			int before = StaticMethod.CALLS.get();
			context.registry().deliver("billing", "x", "\"a\"");
			assertThat(StaticMethod.CALLS).hasValue(before + 1);
		}
	}

	@Test
	void findsAnnotationsOfInterfaceMethods() throws Exception {
		try (ListenerContext context = ListenerContext.of(AnnotatedInInterface.class)) {
			context.registry().deliver("contract", "x", "\"a\"");
			assertThat(context.bean(AnnotatedInInterface.class).values).containsExactly("a");
		}
	}

	@Test
	void resolvesTheTypesOfAGenericSuperclass() throws Exception {
		try (ListenerContext context = ListenerContext.of(Concrete.class)) {
			assertThat(context.registry().endpoint("generic").types()).containsExactly("order.placed");
			context.registry().deliver("generic", "x", "{\"id\":7}");
			context.registry().deliver("generic-list", "x", "[{\"id\":8}]");
			assertThat(context.bean(Concrete.class).values).containsExactly(new OrderPlaced(7),
					List.of(new OrderPlaced(8)));
		}
	}

	@Test
	void findsAMethodWithABridgeOnce() throws Exception {
		try (ListenerContext context = ListenerContext.of(Bridged.class)) {
			assertThat(context.registry().ids()).containsExactly("bridged");
			context.registry().deliver("bridged", "order.placed", "{\"id\":7}");
			assertThat(context.bean(Bridged.class).values).containsExactly(new OrderPlaced(7));
		}
	}

	@Test
	void letsAnOverridingMethodReplaceOrKeepTheAnnotation() {
		try (ListenerContext context = ListenerContext.of(Overriding.class)) {
			assertThat(context.registry().ids()).containsExactlyInAnyOrder("kept", "replaced");
		}
	}

	@Test
	void registersALazyBeanWhenItIsMade() {
		try (ListenerContext context = ListenerContext.of(LazyListener.class)) {
			assertThat(context.registry().ids()).isEmpty();
			context.bean(LazyListener.class);
			assertThat(context.registry().ids()).containsExactly("lazy");
		}
	}

	@Test
	void registersAPrototypeOnceUnlessItsIdTellsInstancesApart() {
		try (ListenerContext context = ListenerContext.of(Prototype.class, NumberedPrototype.class)) {
			assertThat(context.registry().ids()).isEmpty();
			context.bean(Prototype.class);
			assertThat(context.registry().ids()).containsExactly("prototype");
			assertThatExceptionOfType(BeanCreationException.class).isThrownBy(() -> context.bean(Prototype.class))
				.havingRootCause()
				.isInstanceOf(PgBusException.class)
				.withMessageContaining("Two listeners have the id \"prototype\"")
				.withMessageContaining("Make its bean a singleton");
			NumberedPrototype one = context.bean(NumberedPrototype.class);
			NumberedPrototype two = context.bean(NumberedPrototype.class);
			assertThat(context.registry().ids()).contains("numbered-" + one.getNumber(), "numbered-" + two.getNumber());
		}
	}

	@Test
	void registersAnIdAgainThatHasBeenUnregistered() {
		try (ListenerContext context = ListenerContext.of(Prototype.class)) {
			context.bean(Prototype.class);
			context.registry().unregister("prototype");
			context.bean(Prototype.class);
			assertThat(context.registry().ids()).containsExactly("prototype");
		}
	}

	@Test
	void registersTheProxyOfAScopedBeanAndNotEachInstance() throws Exception {
		try (ListenerContext context = ListenerContext.with((application) -> {
			application.getBeanFactory().registerScope("thread", new SimpleThreadScope());
			application.register(ScopedListener.class);
		})) {
			assertThat(context.registry().ids()).isEmpty();
			context.context().getBean("scopedTarget.scopedListener");
			assertThat(context.registry().ids()).containsExactly("scoped");
			Thread other = new Thread(() -> context.context().getBean("scopedTarget.scopedListener"));
			other.start();
			other.join();
			context.registry().deliver("scoped", "x", "\"a\"");
			assertThat(((ScopedListener) context.context().getBean("scopedTarget.scopedListener")).values)
				.containsExactly("a");
		}
	}

	@Test
	void registersTheProductOfAFactoryWhenItIsMade() throws Exception {
		try (ListenerContext context = ListenerContext.of(ListenerFactory.class, UsesProduct.class)) {
			assertThat(context.registry().ids()).containsExactly("product");
			context.registry().deliver("product", "x", "\"a\"");
			assertThat(context.bean(Product.class).values).containsExactly("a");
		}
	}

	@Test
	void registersBeansOfConfigurationMethods() {
		try (ListenerContext context = ListenerContext.of(BeanMethods.class)) {
			assertThat(context.registry().ids()).containsExactlyInAnyOrder("configuration", "kept", "anonymous");
		}
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void makesNoOtherBeanEarly(CapturedOutput output) {
		try (ListenerContext context = ListenerContext.of(BeanMethods.class)) {
			assertThat(output).doesNotContain("not eligible for getting processed by all BeanPostProcessors");
		}
	}

	@Test
	void needsNothingOfTheBusWithoutListeners() {
		try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(
				PgEventListenerAnnotationBeanPostProcessor.class, ListenerContext.Received.class)) {
			assertThat(context.getBeanProvider(EventConverter.class).getIfAvailable()).isNull();
			assertThat(context.getBeanProvider(PgListenerContainerRegistry.class).getIfAvailable()).isNull();
		}
	}

	@Test
	void saysWhatTheRegistryRefuses() {
		assertThatExceptionOfType(PgBusException.class).isThrownBy(() -> ListenerContext.with((application) -> {
			application.registerBean(Registrar.class);
			application.registerBean(PrivateMethod.class);
		})).withMessageContaining("PrivateMethod.on(String) cannot be registered: There is a listener \"billing\"");
	}

	@Test
	void tellsWhichClassesHaveListeners() {
		assertThat(PgEventListenerAnnotationBeanPostProcessor.hasListeners(PrivateMethod.class)).isTrue();
		assertThat(PgEventListenerAnnotationBeanPostProcessor.hasListeners(String.class)).isFalse();
		assertThat(PgEventListenerAnnotationBeanPostProcessor.hasListeners(OrderPlaced.class)).isFalse();
	}

	@Test
	void refusesAListenerInALazyBeanWhenItIsMade() {
		assertRefused(UsesBadLazy.class, "BadLazy.on(String) has no consumer group");
	}

	@EventType("order.placed")
	record OrderPlaced(long id) {
	}

	static class PrivateMethod extends ListenerContext.Received {

		@PgEventListener(streams = "orders", group = "billing")
		private void on(String payload) {
			add(payload);
		}

	}

	static class StaticMethod {

		static final AtomicInteger CALLS = new AtomicInteger();

		@PgEventListener(streams = "orders", group = "billing")
		static void on(String payload) {
			CALLS.incrementAndGet();
		}

	}

	interface AnnotatedContract {

		@PgEventListener(streams = "orders", group = "contract")
		void on(String payload);

	}

	static class AnnotatedInInterface extends ListenerContext.Received implements AnnotatedContract {

		@Override
		public void on(String payload) {
			add(payload);
		}

	}

	abstract static class Generic<T> extends ListenerContext.Received {

		@PgEventListener(streams = "orders", group = "generic")
		void on(T payload) {
			add(payload);
		}

		@PgEventListener(streams = "orders", group = "generic-list")
		void onList(List<T> payload) {
			add(payload);
		}

	}

	static class Concrete extends Generic<OrderPlaced> {

	}

	interface Handler<T> {

		void on(T payload);

	}

	static class Bridged extends ListenerContext.Received implements Handler<OrderPlaced> {

		@Override
		@PgEventListener(streams = "orders", group = "bridged")
		public void on(OrderPlaced payload) {
			add(payload);
		}

	}

	static class Overridden {

		@PgEventListener(streams = "orders", group = "kept")
		void kept(String payload) {
		}

		@PgEventListener(streams = "orders", group = "original")
		void replaced(String payload) {
		}

	}

	static class Overriding extends Overridden {

		@Override
		void kept(String payload) {
		}

		@Override
		@PgEventListener(streams = "orders", group = "replaced")
		void replaced(String payload) {
		}

	}

	@Lazy
	static class LazyListener {

		@PgEventListener(streams = "orders", group = "lazy")
		void on(String payload) {
		}

	}

	@Scope(BeanDefinition.SCOPE_PROTOTYPE)
	static class Prototype {

		@PgEventListener(streams = "orders", group = "prototype")
		void on(String payload) {
		}

	}

	@Scope(BeanDefinition.SCOPE_PROTOTYPE)
	static class NumberedPrototype {

		private static final AtomicInteger NUMBERS = new AtomicInteger();

		private final int number = NUMBERS.incrementAndGet();

		public int getNumber() {
			return this.number;
		}

		@PgEventListener(streams = "orders", group = "numbered", id = "numbered-#{__listener.number}")
		void on(String payload) {
		}

	}

	@Component("scopedListener")
	@Scope(scopeName = "thread", proxyMode = ScopedProxyMode.TARGET_CLASS)
	static class ScopedListener extends ListenerContext.Received {

		@PgEventListener(streams = "orders", group = "scoped")
		public void on(String payload) {
			add(payload);
		}

	}

	static class Product extends ListenerContext.Received {

		@PgEventListener(streams = "orders", group = "product")
		void on(String payload) {
			add(payload);
		}

	}

	static class ListenerFactory implements FactoryBean<Product> {

		@Override
		public Product getObject() {
			return new Product();
		}

		@Override
		public Class<?> getObjectType() {
			return Product.class;
		}

	}

	static class UsesProduct {

		UsesProduct(Product product) {
		}

	}

	@Configuration
	static class BeanMethods {

		@Bean
		Overridden listener() {
			return new Overridden() {

				@Override
				@PgEventListener(streams = "orders", group = "anonymous")
				void replaced(String payload) {
				}

				@Override
				void kept(String payload) {
				}

			};
		}

		@PgEventListener(streams = "orders", group = "configuration")
		void on(String payload) {
		}

	}

	static class Registrar {

		Registrar(RecordingRegistry registry) {
			registry.register(PgListenerEndpoint.id("billing").streams("orders").onEvent(String.class, (event) -> {
			}));
		}

	}

	@Lazy
	static class BadLazy {

		@PgEventListener(streams = "orders")
		void on(String payload) {
		}

	}

	@Import(BadLazy.class)
	static class UsesBadLazy {

		@Bean
		String user(BadLazy lazy) {
			return lazy.toString();
		}

	}

}
