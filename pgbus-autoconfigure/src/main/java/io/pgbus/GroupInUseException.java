package io.pgbus;

import java.util.Collection;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * A group was to be moved or deleted while consumers take part in it. Nothing was
 * changed.
 *
 * @since 0.1.0
 */
public class GroupInUseException extends PgBusException {

	private static final long serialVersionUID = 1L;

	private final List<String> consumers;

	/**
	 * Creates an exception.
	 * @param group the group
	 * @param consumers the names of some of the consumers
	 * @param cause the cause, or {@code null}
	 */
	public GroupInUseException(String group, Collection<String> consumers, @Nullable Throwable cause) {
		super("The group \"" + group + "\" is in use by " + consumers
				+ ((cause != null) ? " and their transactions do not end. Stop them first."
						: ". Stop its listeners and remove the consumers that read from it first, or force it."),
				cause);
		this.consumers = List.copyOf(consumers);
	}

	/**
	 * Returns the names of some of the consumers.
	 * @return the names
	 */
	public List<String> consumers() {
		return this.consumers;
	}

}
