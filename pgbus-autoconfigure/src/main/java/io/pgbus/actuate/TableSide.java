package io.pgbus.actuate;

import java.util.Arrays;
import java.util.List;

import io.pgbus.BackfillOperations;
import io.pgbus.BackfillRequest;
import io.pgbus.PgBusException;
import io.pgbus.actuate.PgBusEndpoint.BackfillAction;
import io.pgbus.actuate.PgBusEndpoint.CaptureAction;
import io.pgbus.actuate.PgBusEndpoint.NotFoundException;
import io.pgbus.actuate.PgBusEndpoint.NotNowException;
import io.pgbus.replication.CaptureWatch;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.json.JsonParseException;
import org.springframework.boot.json.JsonParserFactory;

/**
 * What the endpoint shows and does of tables.
 *
 * @param capture looks at the capture, or {@code null} if this instance has none
 * @param backfills the backfills, or {@code null} if this instance has none
 * @since 0.1.0
 */
public record TableSide(@Nullable CaptureWatch capture, @Nullable BackfillOperations backfills) {

	@Nullable CaptureDetail captureDetail() {
		return (this.capture != null) ? CaptureDetail.of(this.capture.look()) : null;
	}

	CaptureDetail changeCapture(CaptureAction action) {
		CaptureWatch watch = this.capture;
		if (watch == null) {
			throw new NotFoundException("This instance captures no tables");
		}
		try {
			switch (action) {
				case RESUME -> watch.resume();
				case DROP_SLOT -> watch.dropSlot();
			}
		}
		catch (PgBusException ex) {
			throw new NotNowException(String.valueOf(ex.getMessage()));
		}
		return CaptureDetail.of(watch.look());
	}

	List<BackfillDetail> backfillsOf(String group) {
		return (this.backfills != null)
				? this.backfills.list(group).stream().limit(GroupDetail.LIMIT).map(BackfillDetail::of).toList()
				: List.of();
	}

	/** Takes no SQL: who may use the endpoint need not be one who may run any. */
	BackfillDetail start(String group, @Nullable String table, @Nullable String keys) {
		if (table == null) {
			throw new IllegalArgumentException("A backfill needs a table that the group listens to");
		}
		BackfillRequest request = BackfillRequest.of(table);
		return BackfillDetail.of(operations().start(group, (keys != null) ? request.keys(list(keys)) : request));
	}

	/** Actuator takes no lists in the body of a request. */
	private static List<?> list(String keys) {
		if (!keys.startsWith("[")) {
			return Arrays.stream(keys.split(",")).map(String::trim).toList();
		}
		try {
			return JsonParserFactory.getJsonParser().parseList(keys);
		}
		catch (JsonParseException ex) {
			throw new IllegalArgumentException("The keys [" + keys + "] are no list in JSON", ex);
		}
	}

	BackfillDetail change(long id, BackfillAction action) {
		BackfillOperations operations = operations();
		if (operations.find(id).isEmpty()) {
			throw new NotFoundException("There is no backfill " + id);
		}
		return BackfillDetail.of(switch (action) {
			case PAUSE -> operations.pause(id);
			case RESUME -> operations.resume(id);
			case CANCEL -> operations.cancel(id);
			case RESTART -> operations.restart(id);
		});
	}

	private BackfillOperations operations() {
		if (this.backfills == null) {
			throw new NotFoundException("This instance has no backfills");
		}
		return this.backfills;
	}

}
