package io.pgbus.listener;

import java.lang.reflect.Type;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

import io.pgbus.DeliveryMode;
import io.pgbus.Event;
import io.pgbus.EventErrorHandler;
import io.pgbus.ListenedTable;
import io.pgbus.OutgoingEvent;
import io.pgbus.RetryPolicy;
import io.pgbus.StartPosition;
import io.pgbus.TableChange;
import org.jspecify.annotations.Nullable;

import org.springframework.core.ResolvableType;
import org.springframework.util.Assert;

/**
 * What a listener listens to, how, and what it does. {@code null} in place of a setting
 * means the default of {@code pgbus.listener}.
 *
 * @param id the id of the listener, unique in the application
 * @param group the consumer group
 * @param streams the streams; none if there are tables
 * @param tables the tables whose changes it handles, as payloads of type
 * {@link io.pgbus.TableChange}; none if there are streams
 * @param types the types of events it handles, or {@code null} for every type
 * @param filter a condition on the event's columns in SQL, or {@code null} for none
 * @param concurrency the number of workers, or {@code null}
 * @param start where the group starts if it is made now, or {@code null}
 * @param delivery the delivery mode, or {@code null}
 * @param batch whether the handler takes lists
 * @param asynchronous whether the handler may return before the work is done
 * @param autoStartup whether the container starts with the application
 * @param retry the retry policy, or {@code null}
 * @param errorHandler is asked what becomes of an event whose handler failed, or
 * {@code null}
 * @param payloadType what payloads are read as, or {@code null} to leave them JSON text
 * @param handler what the listener does
 * @since 0.1.0
 */
public record PgListenerEndpoint(String id, String group, List<String> streams, List<ListenedTable> tables,
		@Nullable Set<String> types, @Nullable String filter, @Nullable Integer concurrency,
		@Nullable StartPosition start, @Nullable DeliveryMode delivery, boolean batch, boolean asynchronous,
		boolean autoStartup, @Nullable RetryPolicy retry, @Nullable EventErrorHandler errorHandler,
		@Nullable Type payloadType, EventHandler handler) {

	/**
	 * Checks the names and numbers.
	 * @throws IllegalArgumentException if one is missing, too long or out of range
	 */
	public PgListenerEndpoint {
		requireName("id", id, id);
		requireName("group", group, id);
		tables = List.copyOf(tables);
		Assert.isTrue(streams.isEmpty() != tables.isEmpty(),
				() -> "The listener \"" + id + "\" names no stream and no table, or both");
		Assert.isTrue(tables.isEmpty() || (types == null && filter == null),
				() -> "The listener \"" + id + "\" listens to tables, so that types and a filter belong to these");
		streams = List.copyOf(new LinkedHashSet<>(streams));
		streams.forEach((stream) -> requireName("stream", stream, id));
		types = (types != null) ? Set.copyOf(types) : null;
		Assert.isTrue(concurrency == null || concurrency >= 1,
				() -> "The concurrency of the listener \"" + id + "\" must be at least 1");
	}

	private static void requireName(String what, String name, String id) {
		Assert.isTrue(
				!name.isBlank() && name.codePointCount(0, name.length()) <= OutgoingEvent.MAX_NAME_LENGTH
						&& name.indexOf('\0') < 0,
				() -> "The " + what + " \"" + name + "\" of the listener \"" + id + "\" must have 1 to "
						+ OutgoingEvent.MAX_NAME_LENGTH + " characters, not all of them white space");
	}

	/**
	 * Starts an endpoint.
	 * @param id the id of the listener, unique in the application
	 * @return a builder, completed by {@code onEvent}, {@code onEvents} or
	 * {@code handler}
	 */
	public static Builder id(String id) {
		return new Builder(id);
	}

	/**
	 * Collects the parts of a {@link PgListenerEndpoint}.
	 */
	public static final class Builder {

		private final String id;

		private @Nullable String group;

		private List<String> streams = List.of();

		private List<ListenedTable> tables = List.of();

		private @Nullable Set<String> types;

		private @Nullable String filter;

		private @Nullable Integer concurrency;

		private @Nullable StartPosition start;

		private @Nullable DeliveryMode delivery;

		private boolean batch;

		private boolean asynchronous;

		private boolean autoStartup = true;

		private @Nullable RetryPolicy retry;

		private @Nullable EventErrorHandler errorHandler;

		private Builder(String id) {
			this.id = id;
		}

		/**
		 * Sets the consumer group; the id by default.
		 * @param group the name of the group
		 * @return this builder
		 */
		public Builder group(String group) {
			this.group = group;
			return this;
		}

		/**
		 * Sets the streams.
		 * @param streams the names
		 * @return this builder
		 */
		public Builder streams(String... streams) {
			this.streams = List.of(streams);
			return this;
		}

		/**
		 * Sets the tables, in place of streams.
		 * @param tables the tables
		 * @return this builder
		 */
		public Builder tables(ListenedTable... tables) {
			this.tables = List.of(tables);
			return this;
		}

		/**
		 * Limits the types of events that are handled; the others are passed over.
		 * @param types the type names, or {@code null} for every type
		 * @return this builder
		 */
		public Builder types(@Nullable Set<String> types) {
			this.types = types;
			return this;
		}

		/**
		 * Limits the events that are handled by a condition in SQL.
		 * @param filter the condition on id, stream, partition, type, key, payload,
		 * headers and published_at, or {@code null} for none
		 * @return this builder
		 */
		public Builder filter(@Nullable String filter) {
			this.filter = filter;
			return this;
		}

		/**
		 * Sets the number of workers.
		 * @param concurrency at least 1, or {@code null} for the default
		 * @return this builder
		 */
		public Builder concurrency(@Nullable Integer concurrency) {
			this.concurrency = concurrency;
			return this;
		}

		/**
		 * Sets where the group starts if it is made now.
		 * @param start the position, or {@code null} for the default
		 * @return this builder
		 */
		public Builder start(@Nullable StartPosition start) {
			this.start = start;
			return this;
		}

		/**
		 * Sets the delivery mode.
		 * @param delivery the mode, or {@code null} for the default
		 * @return this builder
		 */
		public Builder delivery(@Nullable DeliveryMode delivery) {
			this.delivery = delivery;
			return this;
		}

		/**
		 * Makes the handler take lists of events.
		 * @param batch whether it does
		 * @return this builder
		 */
		public Builder batch(boolean batch) {
			this.batch = batch;
			return this;
		}

		/**
		 * Lets the handler return a stage that completes when the work is done. This is
		 * only possible with at-least-once delivery.
		 * @param asynchronous whether it may
		 * @return this builder
		 */
		public Builder asynchronous(boolean asynchronous) {
			this.asynchronous = asynchronous;
			return this;
		}

		/**
		 * Sets whether the container starts with the application; it does by default.
		 * @param autoStartup whether it does
		 * @return this builder
		 */
		public Builder autoStartup(boolean autoStartup) {
			this.autoStartup = autoStartup;
			return this;
		}

		/**
		 * Sets the retry policy.
		 * @param retry the policy, or {@code null} for the default
		 * @return this builder
		 */
		public Builder retry(@Nullable RetryPolicy retry) {
			this.retry = retry;
			return this;
		}

		/**
		 * Sets who is asked what becomes of an event whose handler failed.
		 * @param errorHandler the error handler, or {@code null} for the default
		 * @return this builder
		 */
		public Builder errorHandler(@Nullable EventErrorHandler errorHandler) {
			this.errorHandler = errorHandler;
			return this;
		}

		/**
		 * Completes the endpoint with a handler of single events.
		 * @param <T> the type of the payloads
		 * @param payloadType what payloads are read as
		 * @param handler handles an event
		 * @return the endpoint
		 */
		public <T> PgListenerEndpoint onEvent(Class<T> payloadType, Consumer<Event<T>> handler) {
			return batch(false).handler(payloadType, (events) -> {
				events.forEach((event) -> handler.accept(event.withPayload(payloadType.cast(event.payload()))));
				return null;
			});
		}

		/**
		 * Completes the endpoint with a handler of changes of tables.
		 * @param <T> the type of the rows
		 * @param rowType what rows are read as
		 * @param handler handles a change
		 * @return the endpoint
		 */
		public <T> PgListenerEndpoint onChange(Class<T> rowType, Consumer<TableChange<T>> handler) {
			Type type = ResolvableType.forClassWithGenerics(TableChange.class, rowType).getType();
			return batch(false).handler(type, (events) -> {
				events.forEach((event) -> handler.accept(change(event)));
				return null;
			});
		}

		@SuppressWarnings("unchecked")
		private static <T> TableChange<T> change(Event<Object> event) {
			return (TableChange<T>) event.payload();
		}

		/**
		 * Completes the endpoint with a handler of lists of events.
		 * @param <T> the type of the payloads
		 * @param payloadType what payloads are read as
		 * @param handler handles a list of one or more events
		 * @return the endpoint
		 */
		public <T> PgListenerEndpoint onEvents(Class<T> payloadType, Consumer<List<Event<T>>> handler) {
			return batch(true).handler(payloadType, (events) -> {
				handler.accept(
						events.stream().map((event) -> event.withPayload(payloadType.cast(event.payload()))).toList());
				return null;
			});
		}

		/**
		 * Completes the endpoint.
		 * @param payloadType what payloads are read as, or {@code null} to leave them
		 * JSON text
		 * @param handler the handler
		 * @return the endpoint
		 */
		public PgListenerEndpoint handler(@Nullable Type payloadType, EventHandler handler) {
			return new PgListenerEndpoint(this.id, (this.group != null) ? this.group : this.id, this.streams,
					this.tables, this.types, this.filter, this.concurrency, this.start, this.delivery, this.batch,
					this.asynchronous, this.autoStartup, this.retry, this.errorHandler, payloadType, handler);
		}

	}

}
