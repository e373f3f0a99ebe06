package io.pgbus.actuate;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

import io.pgbus.listener.OutboxRelay;
import io.pgbus.listener.PgListenerContainer;
import io.pgbus.listener.PgListenerContainer.State;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.replication.CaptureStatus;
import io.pgbus.replication.CaptureWatch;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.BusProbe;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.RetentionMaintenance;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.core.task.SimpleAsyncTaskExecutor;

/**
 * Health of the bus in this instance. It is down if the database does not answer in time
 * or has another version of the schema, and while a listener backs off. It is up, with a
 * detail, where notifications are not heard, since events are found by polling then, and
 * where listeners were stopped or paused on purpose.
 *
 * @since 0.1.0
 */
public class PgBusHealthIndicator extends AbstractHealthIndicator {

	private static final Duration PATIENCE = Duration.ofSeconds(2);

	private final BusProbe probe;

	private final PgListenerContainerRegistry registry;

	private final @Nullable NotificationListener notifications;

	private final @Nullable CaptureWatch capture;

	private final @Nullable RetentionMaintenance retention;

	private final Duration patience;

	private final Inquiry<Answer> bus;

	/** {@code null}: there is no outbox. */
	private final @Nullable Inquiry<OutboxDetail> outbox;

	/**
	 * Creates the indicator.
	 * @param database the database
	 * @param registry the listeners of this instance
	 * @param notifications hears notifications, or {@code null} if this instance polls
	 * @param capture looks at the capture of tables, or {@code null} if there is none
	 * @param retention looks after the segments of the log, or {@code null} if this
	 * instance does not
	 * @param outbox carries events from the outbox, or {@code null} if there is none
	 */
	public PgBusHealthIndicator(BusDatabase database, PgListenerContainerRegistry registry,
			@Nullable NotificationListener notifications, @Nullable CaptureWatch capture,
			@Nullable RetentionMaintenance retention, @Nullable OutboxRelay outbox) {
		this(database, registry, notifications, capture, retention, outbox, PATIENCE);
	}

	PgBusHealthIndicator(BusDatabase database, PgListenerContainerRegistry registry,
			@Nullable NotificationListener notifications, @Nullable CaptureWatch capture,
			@Nullable RetentionMaintenance retention, @Nullable OutboxRelay outbox, Duration patience) {
		super("The health of pgbus cannot be told");
		this.probe = new BusProbe(database);
		this.registry = registry;
		this.notifications = notifications;
		this.capture = capture;
		this.retention = retention;
		this.patience = patience;
		SimpleAsyncTaskExecutor executor = new SimpleAsyncTaskExecutor("pgbus-health-");
		executor.setDaemon(true);
		this.bus = new Inquiry<>(this::look, executor);
		this.outbox = (outbox != null) ? new Inquiry<>(() -> OutboxDetail.of(outbox, null), executor) : null;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) throws Exception {
		builder.up();
		checkListeners(builder);
		checkNotifications(builder);
		checkCapture(builder);
		checkRetention(builder);
		checkOutbox(builder);
		checkDatabase(builder);
	}

	private void checkListeners(Health.Builder builder) {
		Map<String, State> listeners = new LinkedHashMap<>();
		for (PgListenerContainer container : this.registry.containers()) {
			listeners.put(container.id(), container.state());
		}
		builder.withDetail("listeners", listeners);
		if (listeners.containsValue(State.BACKING_OFF)) {
			builder.down();
		}
	}

	private void checkNotifications(Health.Builder builder) {
		NotificationListener listener = this.notifications;
		if (listener == null) {
			builder.withDetail("notifications", "none: events are found by polling");
		}
		else if (listener.isListening()) {
			builder.withDetail("notifications", "listening");
		}
		else if (listener.lastFailure() == null) {
			builder.withDetail("notifications", "not started");
		}
		else {
			builder.withDetail("notifications", "lost: events are found by polling")
				.withDetail("notificationsLostSince", listener.since())
				.withDetail("notificationsFailure", String.valueOf(listener.lastFailure()));
		}
	}

	private void checkCapture(Health.Builder builder) {
		CaptureStatus status = (this.capture != null) ? this.capture.status() : null;
		if (status == null || status.state() == CaptureStatus.State.STOPPED) {
			return;
		}
		builder.withDetail("capture", status.state()).withDetail("captureSlot", status.slot());
		if (status.failure() != null) {
			builder.down().withDetail("captureFailure", status.failure());
		}
		if (status.remedy() != null) {
			builder.withDetail("captureRemedy", status.remedy());
		}
	}

	/** Publishing goes on for as long as there are segments ahead. */
	private void checkRetention(Health.Builder builder) {
		String trouble = (this.retention != null) ? this.retention.trouble() : null;
		if (trouble != null) {
			builder.withDetail("retentionWarning", trouble);
		}
	}

	/** Whether the bus can be reached or not, this tells how much waits for it. */
	private void checkOutbox(Health.Builder builder) throws InterruptedException {
		if (this.outbox == null) {
			return;
		}
		try {
			OutboxDetail detail = this.outbox.ask(this.patience);
			builder.withDetail("outbox", detail.state())
				.withDetail("outboxLag", detail.estimatedLag())
				.withDetail("outboxLagSeconds", detail.lagSeconds());
			if (detail.state() == State.BACKING_OFF) {
				builder.down();
			}
		}
		catch (TimeoutException ex) {
			builder.down().withDetail("outbox", "no answer within " + this.patience.toMillis() + " ms");
		}
		catch (ExecutionException ex) {
			builder.down().withDetail("outbox", String.valueOf(ex.getCause()));
		}
	}

	private void checkDatabase(Health.Builder builder) throws InterruptedException {
		try {
			Answer current = this.bus.ask(this.patience);
			if (!current.problem().isEmpty()) {
				builder.down().withDetail("schema", current.problem());
			}
			if (current.captureWarning() != null) {
				builder.withDetail("captureWarning", current.captureWarning());
			}
		}
		catch (TimeoutException ex) {
			builder.down().withDetail("database", "no answer within " + this.patience.toMillis() + " ms");
		}
		catch (ExecutionException ex) {
			builder.down().withDetail("database", String.valueOf(ex.getCause()));
		}
	}

	private Answer look() {
		String problem = this.probe.problem();
		CaptureWatch watch = this.capture;
		return new Answer(problem, (problem.isEmpty() && watch != null) ? watch.warning() : null);
	}

	/**
	 * What the database says.
	 *
	 * @param problem what is wrong with the schema, or empty
	 * @param captureWarning what will be trouble with the capture, or {@code null}
	 */
	private record Answer(String problem, @Nullable String captureWarning) {

	}

}
