package io.pgbus.test;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

import io.pgbus.Event;

/**
 * Events that a {@link PgBusTester} has captured.
 *
 * @since 0.1.0
 */
public final class CapturedEvents implements AutoCloseable {

	private final List<Event<String>> events = new CopyOnWriteArrayList<>();

	private final Consumer<CapturedEvents> onClose;

	CapturedEvents(Consumer<CapturedEvents> onClose) {
		this.onClose = onClose;
	}

	void add(Event<String> event) {
		this.events.add(event);
	}

	/**
	 * Returns the events captured so far, in the order of delivery: those of a key are in
	 * order.
	 * @return a copy, with the payloads as JSON text; a JSON string as its value
	 */
	public List<Event<String>> events() {
		return List.copyOf(this.events);
	}

	/**
	 * Waits for up to 30 seconds until at least so many events are captured.
	 * @param count how many
	 * @return the events captured so far
	 * @throws AssertionError if that is not long enough
	 */
	public List<Event<String>> await(int count) {
		return await(count, PgBusTester.DEFAULT_TIMEOUT);
	}

	/**
	 * Waits until at least so many events are captured.
	 * @param count how many
	 * @param timeout how long to wait at most
	 * @return the events captured so far
	 * @throws AssertionError if that is not long enough
	 */
	public List<Event<String>> await(int count, Duration timeout) {
		PgBusTester.await(timeout, () -> (this.events.size() >= count) ? null
				: "Only " + this.events.size() + " of " + count + " events were captured");
		return events();
	}

	/**
	 * Stops to capture, and deletes the group that did. What was captured can still be
	 * read. To close it again does nothing.
	 */
	@Override
	public void close() {
		this.onClose.accept(this);
	}

}
