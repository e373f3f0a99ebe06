package io.pgbus.actuate;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Stream;

import io.pgbus.ConsumerGroupOperations;
import io.pgbus.PgBusException;
import io.pgbus.StartPosition;
import io.pgbus.actuate.Overview.ListenerStatus;
import io.pgbus.listener.BusConsumer;
import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerContainer;
import io.pgbus.listener.PgListenerContainer.State;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.CursorStatus;
import io.pgbus.store.FailedEvent;
import io.pgbus.store.FailureChanges;
import io.pgbus.store.FailureFilter;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.dao.DataAccessException;

/**
 * {@link Endpoint @Endpoint} to look at the bus and to act on it: what is stuck, why, and
 * what to do about it. Every answer is bounded, however many events wait or have failed;
 * what is called an estimate is one.
 *
 * @since 0.1.0
 */
@Endpoint(id = "pgbus")
public class PgBusEndpoint {

	/** The most failed events that one operation changes. */
	static final int MAX_CHANGES = 1000;

	/** The most characters of one payload. */
	private static final int MAX_PAYLOAD = 1_000_000;

	private final LogSide bus;

	/** With the groups of tables, or {@code null}: they are on the bus too. */
	private final @Nullable LogSide own;

	private final ConsumerGroupOperations groups;

	private final PgListenerContainerRegistry registry;

	private final Show showPayloads;

	private final TableSide tables;

	private final @Nullable OutboxRelay outbox;

	/**
	 * Creates the endpoint.
	 * @param database the database
	 * @param groups changes groups
	 * @param registry the listeners of this instance
	 * @param consumer this instance
	 * @param showPayloads whether to show payloads
	 * @param tables what there is of tables
	 * @param outbox carries events from the outbox, or {@code null} if there is none
	 */
	public PgBusEndpoint(BusDatabase database, ConsumerGroupOperations groups, PgListenerContainerRegistry registry,
			BusConsumer consumer, Show showPayloads, TableSide tables, @Nullable OutboxRelay outbox) {
		this.bus = LogSide.ofBus(database, consumer);
		this.own = (outbox != null) ? LogSide.of(outbox) : null;
		this.groups = groups;
		this.registry = registry;
		this.showPayloads = showPayloads;
		this.tables = tables;
		this.outbox = outbox;
	}

	/**
	 * Shows the bus in one look. While the bus cannot be reached, the outbox and what
	 * listens to tables can.
	 * @return streams, groups, instances, and the listeners of this one
	 */
	@ReadOperation
	public Overview overview() {
		List<ListenerStatus> listeners = this.registry.containers()
			.stream()
			.limit(Overview.LIMIT)
			.map(ListenerStatus::of)
			.toList();
		CaptureDetail capture = this.tables.captureDetail();
		if (this.outbox == null || this.own == null) {
			return Overview.of(this.bus.overview(), listeners, capture, null, null);
		}
		Overview.Log own = this.own.overview();
		try {
			return Overview.of(this.bus.overview(), listeners, capture, OutboxDetail.of(this.outbox, null), own);
		}
		catch (DataAccessException ex) {
			return Overview.of(Overview.Log.NOTHING, listeners, capture, OutboxDetail.of(this.outbox, ex), own);
		}
	}

	/** Where a group is, or would be. */
	private LogSide side(String group) {
		return (this.own != null && this.own.hasGroup(group)) ? this.own : this.bus;
	}

	/**
	 * Changes a listener or the capture of this instance, or a backfill.
	 * @param listener the id of the listener, or {@code null}
	 * @param action what to do with it, or {@code null}
	 * @param capture what to do with the capture, or {@code null}
	 * @param backfill the id of the backfill, or {@code null}
	 * @param backfillAction what to do with it, or {@code null}
	 * @return what was changed
	 */
	@WriteOperation
	public Object change(@Nullable String listener, @Nullable ListenerAction action, @Nullable CaptureAction capture,
			@Nullable Long backfill, @Nullable BackfillAction backfillAction) {
		if (Stream.of(listener, capture, backfill).filter(Objects::nonNull).count() == 1) {
			if (capture != null) {
				return this.tables.changeCapture(capture);
			}
			if (backfill != null && backfillAction != null) {
				return this.tables.change(backfill, backfillAction);
			}
			if (listener != null && action != null) {
				return changeListener(listener, action);
			}
		}
		throw new IllegalArgumentException("Say which listener or which backfill, and what action; or what to do with "
				+ "the capture. To change a group, add its name to the path.");
	}

	/** A stop does not wait for the handler. */
	private ListenerStatus changeListener(String listener, ListenerAction action) {
		PgListenerContainer container = this.registry.find(listener);
		if (container == null) {
			throw new NotFoundException("There is no listener \"" + listener + "\" in this instance");
		}
		switch (action) {
			case PAUSE -> container.pause();
			case RESUME -> container.resume();
			case START -> {
				if (container.state() == State.STOPPING) {
					throw new NotNowException("Listener \"" + listener
							+ "\" still waits for its handler to stop. Try again when it is STOPPED.");
				}
				container.start();
			}
			case STOP -> container.stop(() -> {
			});
		}
		return ListenerStatus.of(container);
	}

	/**
	 * Shows a group in all of its partitions.
	 * @param group the name of the group
	 * @return the group, or {@code null} if there is none
	 */
	@ReadOperation
	public @Nullable GroupDetail group(@Selector String group) {
		LogSide side = side(group);
		List<CursorStatus> cursors = side.status().cursors(group, GroupDetail.LIMIT);
		if (cursors.isEmpty() && !side.hasGroup(group)) {
			return null;
		}
		boolean hasTables = side.isOutbox() || this.own == null;
		return new GroupDetail(group, cursors, hasTables ? this.tables.backfillsOf(group) : List.of());
	}

	/**
	 * Pauses or resumes a group on all instances, moves it, or gives it the rows of a
	 * table again.
	 * @param group the name of the group
	 * @param action what to do
	 * @param position where a seek goes: {@code earliest}, {@code latest}, an ISO-8601
	 * instant, or an event id
	 * @param force whether to seek while the group has running listeners
	 * @param table the table of a backfill
	 * @param keys the primary keys of the rows of a backfill, separated by commas, or as
	 * a list in JSON; {@code null} for all rows
	 * @return what was done
	 */
	@WriteOperation
	public Object changeGroup(@Selector String group, GroupAction action, @Nullable String position,
			@Nullable Boolean force, @Nullable String table, @Nullable String keys) {
		LogSide side = existing(group);
		switch (action) {
			case PAUSE -> this.groups.pauseGroup(group);
			case RESUME -> this.groups.resumeGroup(group);
			case BACKFILL -> {
				return this.tables.start(group, table, keys);
			}
			case SEEK -> {
				if (position == null) {
					throw new IllegalArgumentException("A seek needs a position: earliest, latest, an ISO-8601 instant "
							+ "such as 2026-01-31T12:00:00Z, or an event id");
				}
				this.groups.seek(group, StartPosition.parse(position), Boolean.TRUE.equals(force));
			}
		}
		side.consumer().publishedSomewhere();
		return new GroupChange(group, action.done);
	}

	/**
	 * Deletes a group that no running consumer takes part in.
	 * @param group the name of the group
	 * @return what was done
	 */
	@DeleteOperation
	public GroupChange deleteGroup(@Selector String group) {
		existing(group);
		this.groups.deleteGroup(group);
		return new GroupChange(group, "deleted");
	}

	/**
	 * Lists failed events of a group.
	 * @param group the name of the group
	 * @param part what to list
	 * @param state which state, or {@code null} for all
	 * @param key which key, or {@code null} for all
	 * @param type which type, or {@code null} for all
	 * @param after the {@code after} of the page before
	 * @param limit the most events to return
	 * @return a page, or {@code null} if there is no such group
	 */
	@ReadOperation
	public @Nullable FailurePage failures(@Selector String group, @Selector Part part, @Nullable FailureState state,
			@Nullable String key, @Nullable String type, @Nullable Long after, @Nullable Integer limit) {
		return page(group, filter(null, state, key, type), after, limit, this.showPayloads.isShown(true));
	}

	@Nullable FailurePage page(String group, FailureFilter filter, @Nullable Long after, @Nullable Integer limit,
			boolean showPayloads) {
		int size = (limit != null) ? limit : FailurePage.DEFAULT_LIMIT;
		if (size < 1 || size > FailurePage.MAX_LIMIT) {
			throw new IllegalArgumentException(
					"The limit is " + size + ", but must be from 1 to " + FailurePage.MAX_LIMIT);
		}
		LogSide side = side(group);
		List<FailedEvent> found = side.failures()
			.page(group, filter, (after != null) ? after : -1, size + 1, false,
					showPayloads ? FailurePage.PAYLOAD_LIMIT : 0);
		return (found.isEmpty() && !side.hasGroup(group)) ? null : FailurePage.of(group, found, size);
	}

	/**
	 * Retries or discards failed events of a group, at most {@value #MAX_CHANGES} at a
	 * time.
	 * @param group the name of the group
	 * @param part what to change
	 * @param action what to do
	 * @param state which state, or {@code null} for all
	 * @param key which key, or {@code null} for all
	 * @param type which type, or {@code null} for all
	 * @param all {@code true} if all are meant, where nothing else says which
	 * @return what was done
	 */
	@WriteOperation
	public FailureChanges.Result changeFailures(@Selector String group, @Selector Part part, FailureAction action,
			@Nullable FailureState state, @Nullable String key, @Nullable String type, @Nullable Boolean all) {
		if (state == null && key == null && type == null && !Boolean.TRUE.equals(all)) {
			throw new IllegalArgumentException(
					"Say which events: by state, key or type, or by all=true. For one event, add its id to the path.");
		}
		return change(existing(group), group, action, filter(null, state, key, type));
	}

	/**
	 * Shows a failed event of a group.
	 * @param group the name of the group
	 * @param part what to show
	 * @param id the id of the event
	 * @return the event, or {@code null} if it is not among the failed ones
	 */
	@ReadOperation
	public @Nullable FailedEvent failure(@Selector String group, @Selector Part part, @Selector long id) {
		return find(group, id, this.showPayloads.isShown(true));
	}

	@Nullable FailedEvent find(String group, long id, boolean showPayloads) {
		List<FailedEvent> found = side(group).failures()
			.page(group, filter(id, null, null, null), -1, 1, true, showPayloads ? MAX_PAYLOAD : 0);
		return found.isEmpty() ? null : found.get(0);
	}

	/**
	 * Retries or discards a failed event of a group.
	 * @param group the name of the group
	 * @param part what to change
	 * @param id the id of the event
	 * @param action what to do
	 * @return what was done
	 */
	@WriteOperation
	public FailureChanges.Result changeFailure(@Selector String group, @Selector Part part, @Selector long id,
			FailureAction action) {
		FailureChanges.Result result = change(side(group), group, action, filter(id, null, null, null));
		if (result.changed() == 0) {
			throw unchanged(group, id, result.busy() > 0);
		}
		return result;
	}

	private PgBusException unchanged(String group, long id, boolean isBusy) {
		if (isBusy) {
			return new NotNowException("Event " + id + " is being handled at this moment. Try again.");
		}
		FailedEvent event = find(group, id, false);
		return (event != null)
				? new NotNowException("Event " + id + " is " + event.state()
						+ ": it has its turn when those in front of it with its key are handled or discarded.")
				: new NotFoundException("Event " + id + " is not among the failed events of a group \"" + group + "\"");
	}

	private static FailureChanges.Result change(LogSide side, String group, FailureAction action,
			FailureFilter filter) {
		FailureChanges.Result result = (action == FailureAction.RETRY)
				? side.changes().retry(group, filter, MAX_CHANGES) : side.changes().discard(group, filter, MAX_CHANGES);
		if (result.changed() > 0) {
			side.consumer().publishedSomewhere();
		}
		return result;
	}

	private LogSide existing(String group) {
		LogSide side = side(group);
		if (!side.hasGroup(group)) {
			throw new NotFoundException("There is no group \"" + group + "\"");
		}
		return side;
	}

	static FailureFilter filter(@Nullable Long id, @Nullable FailureState state, @Nullable String key,
			@Nullable String type) {
		return new FailureFilter(id, (state != null) ? state.name().toLowerCase(Locale.ROOT) : null, key, type);
	}

	/** What can be done to a listener. */
	public enum ListenerAction {

		/** Take no events until it is resumed. */
		PAUSE,

		/** End a pause. */
		RESUME,

		/** Start. */
		START,

		/** Stop. */
		STOP

	}

	/** What can be done to the capture of tables. */
	public enum CaptureAction {

		/** Go on behind a gap. */
		RESUME,

		/** Drop the replication slot, if no group listens to a table. */
		DROP_SLOT

	}

	/** What can be done to a backfill. */
	public enum BackfillAction {

		/** Read no rows until it is resumed. */
		PAUSE,

		/** End a pause. */
		RESUME,

		/** Give it up. */
		CANCEL,

		/** Begin again with the first row. */
		RESTART

	}

	/** What can be done to a group. */
	public enum GroupAction {

		/** Take no events on any instance until it is resumed. */
		PAUSE("paused"),

		/** End a pause. */
		RESUME("resumed"),

		/** Go to another position. */
		SEEK("moved"),

		/** Read the rows of a table. */
		BACKFILL("started");

		private final String done;

		GroupAction(String done) {
			this.done = done;
		}

	}

	/**
	 * What was done to a group.
	 *
	 * @param group the name of the group
	 * @param done {@code paused}, {@code resumed}, {@code moved} or {@code deleted}
	 */
	public record GroupChange(String group, String done) {

	}

	/** What can be done to a failed event. */
	public enum FailureAction {

		/** Try it again now. */
		RETRY,

		/** Take it for handled. */
		DISCARD

	}

	/** The state of a failed event. */
	public enum FailureState {

		/** Tried, and to be tried again. */
		RETRYING,

		/** Behind an earlier event with the same key. */
		HELD,

		/** Not to be tried again. */
		DEAD

	}

	/** A part of a group. */
	public enum Part {

		/** Its failed events. */
		FAILURES

	}

	static final class NotFoundException extends PgBusException {

		private static final long serialVersionUID = 1L;

		NotFoundException(String message) {
			super(message);
		}

	}

	static final class NotNowException extends PgBusException {

		private static final long serialVersionUID = 1L;

		NotNowException(String message) {
			super(message);
		}

	}

}
