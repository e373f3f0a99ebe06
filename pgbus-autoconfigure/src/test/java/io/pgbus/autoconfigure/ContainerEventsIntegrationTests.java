package io.pgbus.autoconfigure;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

import io.pgbus.annotation.PgEventListener;
import io.pgbus.listener.PgListenerContainer;
import io.pgbus.listener.PgListenerContainer.State;
import io.pgbus.listener.PgListenerContainerEvent;
import io.pgbus.listener.PgListenerContainerEvent.Change;
import io.pgbus.listener.PgListenerContainerRegistry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.core.simple.JdbcClient;

import static org.assertj.core.api.Assertions.as;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;
import static org.awaitility.Awaitility.await;

/**
 * What the application is told when containers change their state.
 */
class ContainerEventsIntegrationTests {

	private ObservedApplication application;

	@AfterEach
	void close() {
		this.application.close();
	}

	@Test
	void everyChangeIsToldOnce() {
		start(Recorder.class);
		container().pause();
		container().pause();
		container().resume();
		container().resume();
		container().stop();
		container().stop();
		container().start();
		container().start();
		assertThat(changes()).containsExactly(Change.STARTED, Change.PAUSED, Change.RESUMED, Change.STOPPED,
				Change.STARTED);
		assertThat(this.application.bean(Recorder.class).events)
			.allSatisfy((event) -> assertThat(event.container()).isSameAs(container()));
		this.application.bean(PgListenerContainerRegistry.class).stop();
		assertThat(changes()).last().isEqualTo(Change.STOPPED);
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	void everyChangeByHandIsOneEventAndOneLineInTheLog(CapturedOutput output) {
		start(List.of(Recorder.class), "pgbus.listener.concurrency=3");
		assertThat(lines(output)).singleElement(as(STRING))
			.contains("Listener numbers listens as group numbers to [s]");
		Map<Runnable, Change> changes = new LinkedHashMap<>();
		changes.put(container()::pause, Change.PAUSED);
		changes.put(container()::resume, Change.RESUMED);
		changes.put(container()::stop, Change.STOPPED);
		changes.put(container()::start, Change.STARTED);
		Map<Change, String> messages = Map.of(Change.PAUSED, "Listener numbers is paused", Change.RESUMED,
				"Listener numbers is resumed", Change.STOPPED, "Listener numbers has stopped", Change.STARTED,
				"Listener numbers listens as group numbers to [s]");
		changes.forEach((change, told) -> {
			int eventsBefore = changes().size();
			int linesBefore = lines(output).size();
			change.run();
			// what is done already is no change
			change.run();
			assertThat(changes().subList(eventsBefore, changes().size())).containsExactly(told);
			assertThat(lines(output).subList(linesBefore, lines(output).size())).singleElement(as(STRING))
				.endsWith(": " + messages.get(told));
		});
	}

	/** What the log says of the listener. */
	private static List<String> lines(CapturedOutput output) {
		return output.toString().lines().filter((line) -> line.contains("numbers")).toList();
	}

	@Test
	void troubleIsToldOnceWithItsCauseAndSoIsItsEnd() {
		start(Recorder.class);
		JdbcClient jdbc = JdbcClient.create(this.application.database.dataSource());
		jdbc.sql("alter table pgbus.cursor_state rename to away").update();
		this.application.publisher().publish("s", 1);
		await().untilAsserted(() -> assertThat(changes()).containsExactly(Change.STARTED, Change.BACKING_OFF));
		assertThat(this.application.bean(Recorder.class).events.get(1).failure()).hasMessageContaining("cursor_state");
		assertThat(container().state()).isEqualTo(State.BACKING_OFF);
		jdbc.sql("alter table pgbus.away rename to cursor_state").update();
		await().untilAsserted(
				() -> assertThat(changes()).containsExactly(Change.STARTED, Change.BACKING_OFF, Change.RECOVERED));
	}

	@Test
	void aContainerIsIdleOnceUntilItHasHandledAnEvent() {
		start(List.of(Recorder.class), "pgbus.listener.idle-event-interval=50ms", "pgbus.listener.concurrency=3");
		await().untilAsserted(() -> assertThat(changes()).containsExactly(Change.STARTED, Change.IDLE));
		this.application.publisher().publish("s", 1);
		await().untilAsserted(() -> assertThat(changes()).containsExactly(Change.STARTED, Change.IDLE, Change.IDLE));
		assertThat(this.application.bean(Numbers.class).handled).containsExactly(1);
	}

	@Test
	void whoIsToldMayStopAndStartTheContainer() {
		start(List.of(Recorder.class, Restarter.class), "pgbus.listener.idle-event-interval=50ms");
		await().untilAsserted(
				() -> assertThat(changes()).startsWith(Change.STARTED, Change.IDLE, Change.STOPPED, Change.STARTED));
		this.application.publisher().publish("s", 1);
		await().untilAsserted(() -> assertThat(this.application.bean(Numbers.class).handled).containsExactly(1));
	}

	@Test
	void aListenerOfChangesThatFailsHarmsNobody() {
		start(Recorder.class, Failing.class);
		this.application.publisher().publish("s", 1);
		await().untilAsserted(() -> assertThat(this.application.bean(Numbers.class).handled).containsExactly(1));
		container().stop();
		assertThat(container().state()).isEqualTo(State.STOPPED);
	}

	private void start(Class<?>... beans) {
		start(List.of(beans));
	}

	private void start(List<Class<?>> beans, String... properties) {
		List<Class<?>> all = new java.util.ArrayList<>(beans);
		all.add(Numbers.class);
		this.application = ObservedApplication.start(all, properties);
	}

	private PgListenerContainer container() {
		return this.application.bean(PgListenerContainerRegistry.class).find("numbers");
	}

	private List<Change> changes() {
		return this.application.bean(Recorder.class).events.stream().map(PgListenerContainerEvent::change).toList();
	}

	static class Numbers {

		final List<Integer> handled = new CopyOnWriteArrayList<>();

		@PgEventListener(streams = "s", group = "numbers")
		void handle(Integer number) {
			this.handled.add(number);
		}

	}

	static class Recorder {

		final List<PgListenerContainerEvent> events = new CopyOnWriteArrayList<>();

		@EventListener
		void record(PgListenerContainerEvent event) {
			this.events.add(event);
		}

	}

	static class Restarter {

		private boolean restarted;

		@EventListener
		void restart(PgListenerContainerEvent event) {
			if (event.change() == Change.IDLE && !this.restarted) {
				event.container().stop();
			}
			if (event.change() == Change.STOPPED && !this.restarted) {
				this.restarted = true;
				event.container().start();
			}
		}

	}

	static class Failing {

		@EventListener
		void fail(PgListenerContainerEvent event) {
			throw new IllegalStateException("told of " + event.change());
		}

	}

}
