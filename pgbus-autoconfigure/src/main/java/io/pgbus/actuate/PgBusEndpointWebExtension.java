package io.pgbus.actuate;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

import io.pgbus.GroupInUseException;
import io.pgbus.PgBusException;
import io.pgbus.actuate.PgBusEndpoint.BackfillAction;
import io.pgbus.actuate.PgBusEndpoint.CaptureAction;
import io.pgbus.actuate.PgBusEndpoint.FailureAction;
import io.pgbus.actuate.PgBusEndpoint.FailureState;
import io.pgbus.actuate.PgBusEndpoint.GroupAction;
import io.pgbus.actuate.PgBusEndpoint.ListenerAction;
import io.pgbus.actuate.PgBusEndpoint.NotFoundException;
import io.pgbus.actuate.PgBusEndpoint.NotNowException;
import io.pgbus.actuate.PgBusEndpoint.Part;
import io.pgbus.store.FailureFilter;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;

/**
 * The {@link PgBusEndpoint} on the web: shows payloads to those who may see them, and
 * says in the answer why something cannot be done.
 *
 * @since 0.1.0
 */
@EndpointWebExtension(endpoint = PgBusEndpoint.class)
public class PgBusEndpointWebExtension {

	private static final int STATUS_CONFLICT = 409;

	private final PgBusEndpoint endpoint;

	private final Show showPayloads;

	private final Set<String> roles;

	/**
	 * Creates the extension.
	 * @param endpoint the endpoint
	 * @param showPayloads whether to show payloads
	 * @param roles the roles that may see payloads, where only those may
	 */
	public PgBusEndpointWebExtension(PgBusEndpoint endpoint, Show showPayloads, Set<String> roles) {
		this.endpoint = endpoint;
		this.showPayloads = showPayloads;
		this.roles = Set.copyOf(roles);
	}

	@WriteOperation
	public WebEndpointResponse<Object> change(@Nullable String listener, @Nullable String action,
			@Nullable String capture, @Nullable Long backfill) {
		return answer(() -> (backfill != null)
				? this.endpoint.change(listener, null, optional(CaptureAction.class, capture), backfill,
						required(BackfillAction.class, action))
				: this.endpoint.change(listener, optional(ListenerAction.class, action),
						optional(CaptureAction.class, capture), null, null));
	}

	@ReadOperation
	public WebEndpointResponse<Object> group(@Selector String group) {
		return answer(() -> this.endpoint.group(group));
	}

	@WriteOperation
	public WebEndpointResponse<Object> changeGroup(@Selector String group, @Nullable String action,
			@Nullable String position, @Nullable Boolean force, @Nullable String table, @Nullable String keys) {
		return answer(() -> this.endpoint.changeGroup(group, required(GroupAction.class, action), position, force,
				table, keys));
	}

	@DeleteOperation
	public WebEndpointResponse<Object> deleteGroup(@Selector String group) {
		return answer(() -> this.endpoint.deleteGroup(group));
	}

	@ReadOperation
	public WebEndpointResponse<Object> failures(SecurityContext securityContext, @Selector String group,
			@Selector String part, @Nullable String state, @Nullable String key, @Nullable String type,
			@Nullable Long after, @Nullable Integer limit) {
		return answer(() -> {
			part(part);
			FailureFilter filter = PgBusEndpoint.filter(null, optional(FailureState.class, state), key, type);
			return this.endpoint.page(group, filter, after, limit, showsPayloads(securityContext));
		});
	}

	@WriteOperation
	public WebEndpointResponse<Object> changeFailures(@Selector String group, @Selector String part,
			@Nullable String action, @Nullable String state, @Nullable String key, @Nullable String type,
			@Nullable Boolean all) {
		return answer(() -> this.endpoint.changeFailures(group, part(part), required(FailureAction.class, action),
				optional(FailureState.class, state), key, type, all));
	}

	@ReadOperation
	public WebEndpointResponse<Object> failure(SecurityContext securityContext, @Selector String group,
			@Selector String part, @Selector long id) {
		return answer(() -> {
			part(part);
			return this.endpoint.find(group, id, showsPayloads(securityContext));
		});
	}

	@WriteOperation
	public WebEndpointResponse<Object> changeFailure(@Selector String group, @Selector String part, @Selector long id,
			@Nullable String action) {
		return answer(() -> this.endpoint.changeFailure(group, part(part), id, required(FailureAction.class, action)));
	}

	private boolean showsPayloads(SecurityContext securityContext) {
		return this.showPayloads.isShown(securityContext, this.roles);
	}

	private static WebEndpointResponse<Object> answer(Supplier<@Nullable Object> operation) {
		try {
			Object body = operation.get();
			return (body != null) ? new WebEndpointResponse<>(body)
					: problem("There is none by this name or id", WebEndpointResponse.STATUS_NOT_FOUND);
		}
		catch (NotFoundException ex) {
			return problem(ex.getMessage(), WebEndpointResponse.STATUS_NOT_FOUND);
		}
		catch (NotNowException | GroupInUseException ex) {
			return problem(ex.getMessage(), STATUS_CONFLICT);
		}
		catch (PgBusException | IllegalArgumentException ex) {
			return problem(ex.getMessage(), WebEndpointResponse.STATUS_BAD_REQUEST);
		}
	}

	private static WebEndpointResponse<Object> problem(@Nullable String message, int status) {
		return new WebEndpointResponse<>(Map.of("error", String.valueOf(message)), status);
	}

	private static Part part(String text) {
		if (!text.equals("failures")) {
			throw new NotFoundException("A group has failures, but no \"" + text + "\"");
		}
		return Part.FAILURES;
	}

	private static <E extends Enum<E>> E required(Class<E> type, @Nullable String text) {
		E value = optional(type, text);
		if (value == null) {
			throw new IllegalArgumentException("Say which action: " + names(type));
		}
		return value;
	}

	private static <E extends Enum<E>> @Nullable E optional(Class<E> type, @Nullable String text) {
		if (text == null) {
			return null;
		}
		return Arrays.stream(type.getEnumConstants())
			.filter((value) -> value.name().equalsIgnoreCase(text.replace('-', '_')))
			.findFirst()
			.orElseThrow(() -> new IllegalArgumentException("\"" + text + "\" is none of " + names(type)));
	}

	private static String names(Class<? extends Enum<?>> type) {
		return Arrays.toString(type.getEnumConstants()).toLowerCase(Locale.ROOT);
	}

}
