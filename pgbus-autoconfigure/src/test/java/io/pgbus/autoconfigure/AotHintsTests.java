package io.pgbus.autoconfigure;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletionStage;

import io.pgbus.Acknowledgment;
import io.pgbus.Event;
import io.pgbus.EventType;
import io.pgbus.TableChange;
import io.pgbus.actuate.FailurePage;
import io.pgbus.actuate.GroupDetail;
import io.pgbus.actuate.Overview;
import io.pgbus.actuate.Overview.ListenerStatus;
import io.pgbus.actuate.PgBusEndpoint;
import io.pgbus.annotation.PgEventHandler;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.annotation.PgTable;
import io.pgbus.annotation.PgTableListener;
import io.pgbus.store.ConsumerStatus;
import io.pgbus.store.CursorStatus;
import io.pgbus.store.FailedEvent;
import io.pgbus.store.FailureChanges;
import io.pgbus.store.GroupStatus;
import io.pgbus.store.StreamStatus;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.GeneratedFiles.Kind;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.javapoet.ClassName;
import org.springframework.messaging.handler.annotation.Header;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What a native image is told when an application is processed ahead of time. There is no
 * database then.
 */
class AotHintsTests {

	private static final InMemoryGeneratedFiles files = new InMemoryGeneratedFiles();

	private static final DefaultGenerationContext generation = new DefaultGenerationContext(
			new ClassNameGenerator(ClassName.get(AotHintsTests.class)), files);

	@BeforeAll
	static void process() {
		try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
			// nobody listens there
			TestPropertyValues
				.of("spring.datasource.url=jdbc:postgresql://localhost:1/none",
						"management.endpoints.web.exposure.include=pgbus")
				.applyTo(context);
			context.register(Application.class);
			context.register(AutoConfigurations.getClasses(AutoConfigurations.of(DataSourceAutoConfiguration.class,
					PgBusAutoConfiguration.class, PgBusListenerAutoConfiguration.class,
					PgBusNotificationAutoConfiguration.class, PgBusEndpointAutoConfiguration.class)));
			new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
			generation.writeGeneratedContent();
		}
	}

	@Test
	void theBusIsMadeByGeneratedCode() {
		assertThat(files.getGeneratedFiles(Kind.SOURCE).keySet()).map((path) -> path.replaceAll(".*/", ""))
			.contains("PgBusAutoConfiguration__BeanDefinitions.java",
					"PgBusListenerAutoConfiguration__BeanDefinitions.java",
					"PgBusNotificationAutoConfiguration__BeanDefinitions.java");
	}

	@ParameterizedTest
	@ValueSource(strings = { "single", "event", "list", "inherited", "asynchronous", "table", "first", "rest" })
	void listenerMethodsCanBeCalled(String name) {
		Method method = Arrays.stream(Listeners.class.getMethods())
			.filter((each) -> each.getName().equals(name))
			.findFirst()
			.orElseGet(() -> handler(name));
		assertThat(RuntimeHintsPredicates.reflection().onMethodInvocation(method)).accepts(hints());
	}

	private static Method handler(String name) {
		return Arrays.stream(Handlers.class.getMethods())
			.filter((each) -> each.getName().equals(name))
			.findFirst()
			.orElseThrow();
	}

	@Test
	void aListenerMethodCanBeCalledOnAProxyByInterfaces() throws NoSuchMethodException {
		assertThat(RuntimeHintsPredicates.reflection()
			.onMethodInvocation(Contract.class.getMethod("ofContract", FromInterface.class))).accepts(hints());
	}

	@ParameterizedTest
	@ValueSource(classes = { Plain.class, InEvent.class, InListOfEvents.class, FromSuperclass.class,
			FromInterface.class, InStage.class, InTable.class, First.class, Nested.class })
	void payloadsOfListenersCanBeMade(Class<?> payload) throws NoSuchMethodException {
		assertThat(RuntimeHintsPredicates.reflection().onConstructorInvocation(payload.getDeclaredConstructors()[0]))
			.accepts(hints());
		assertThat(RuntimeHintsPredicates.reflection()
			.onMethodInvocation(payload.getDeclaredMethod(payload.getRecordComponents()[0].getName())))
			.accepts(hints());
	}

	@Test
	void whatIsNoPayloadIsLeftAlone() {
		for (Class<?> type : List.of(Acknowledgment.class, InHeader.class, NoEvent.class)) {
			assertThat(RuntimeHintsPredicates.reflection().onType(type)).rejects(hints());
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { OnlyPublished.class, PublishedByInterface.class })
	void payloadsThatAreOnlyPublishedCanBeRead(Class<?> payload) throws NoSuchMethodException {
		assertThat(RuntimeHintsPredicates.reflection()
			.onMethodInvocation(payload.getDeclaredMethod(payload.getRecordComponents()[0].getName())))
			.accepts(hints());
	}

	@ParameterizedTest
	@ValueSource(strings = { "schema/V1__event_log.sql", "grants.sql", "grants-operator.sql" })
	void theScriptsAreThere(String script) {
		assertThat(RuntimeHintsPredicates.resource().forResource("io/pgbus/store/" + script)).accepts(hints());
	}

	@Test
	void annotationsAndConnectionsCanBeProxies() {
		assertThat(RuntimeHintsPredicates.proxies().forInterfaces(PgEventListener.class)).accepts(hints());
		assertThat(RuntimeHintsPredicates.proxies().forInterfaces(PgTableListener.class)).accepts(hints());
		assertThat(RuntimeHintsPredicates.proxies().forInterfaces(PgEventHandler.class)).accepts(hints());
		assertThat(RuntimeHintsPredicates.proxies().forInterfaces(Connection.class)).accepts(hints());
	}

	@ParameterizedTest
	@ValueSource(classes = { Overview.class, ListenerStatus.class, StreamStatus.class, GroupStatus.class,
			GroupStatus.FailureCounts.class, ConsumerStatus.class, GroupDetail.class, CursorStatus.class,
			FailurePage.class, FailedEvent.class, FailureChanges.Result.class, PgBusEndpoint.GroupChange.class })
	void answersOfTheEndpointCanBeWritten(Class<?> answer) throws NoSuchMethodException {
		assertThat(RuntimeHintsPredicates.reflection()
			.onMethodInvocation(answer.getDeclaredMethod(answer.getRecordComponents()[0].getName()))).accepts(hints());
	}

	@Test
	void propertiesCanBeBound() {
		assertThat(RuntimeHintsPredicates.reflection().onMethodInvocation(PgBusProperties.class, "getSchema"))
			.accepts(hints());
		assertThat(
				RuntimeHintsPredicates.reflection().onMethodInvocation(PgBusListenerProperties.class, "setBatchSize"))
			.accepts(hints());
	}

	private static RuntimeHints hints() {
		return generation.getRuntimeHints();
	}

	@Configuration(proxyBeanMethods = false)
	@AutoConfigurationPackage
	@Import({ Listeners.class, Handlers.class })
	static class Application {

	}

	abstract static class Base<T> {

		@PgEventListener(streams = "s", group = "inherited")
		public void inherited(Event<T> event) {
		}

	}

	interface Contract {

		@PgEventListener(streams = "s", group = "contract")
		void ofContract(FromInterface payload);

	}

	static class Listeners extends Base<FromSuperclass> implements Contract {

		@PgEventListener(streams = "s", group = "single")
		public void single(Plain plain, @Header("h") InHeader header, Acknowledgment acknowledgment) {
		}

		@PgEventListener(streams = "s", group = "event")
		public void event(Event<InEvent> event) {
		}

		@PgEventListener(streams = "s", group = "list", batch = "${batch}")
		public void list(List<Event<InListOfEvents>> events) {
		}

		@PgEventListener(streams = "s", group = "asynchronous")
		public CompletionStage<NoEvent> asynchronous(InStage payload) {
			throw new IllegalStateException();
		}

		@PgTableListener(tables = @PgTable(name = "t"), group = "table")
		public void table(TableChange<InTable> change) {
		}

		@Override
		public void ofContract(FromInterface payload) {
		}

		public void notAListener(NoEvent payload) {
		}

	}

	@PgEventListener(streams = "s", group = "handlers")
	static class Handlers {

		@PgEventHandler
		public void first(First payload) {
		}

		@PgEventHandler(isDefault = true)
		public void rest(String json) {
		}

	}

	record Plain(Nested nested) {

	}

	record Nested(int number) {

	}

	record InEvent(int number) {

	}

	record InListOfEvents(int number) {

	}

	record FromSuperclass(int number) {

	}

	record FromInterface(int number) {

	}

	record InStage(int number) {

	}

	record InTable(int number) {

	}

	record First(int number) {

	}

	record InHeader(int number) {

	}

	record NoEvent(int number) {

	}

	@EventType("only.published")
	record OnlyPublished(int number) {

	}

	@EventType("published.by.interface")
	interface Published {

	}

	record PublishedByInterface(int number) implements Published {

	}

}
