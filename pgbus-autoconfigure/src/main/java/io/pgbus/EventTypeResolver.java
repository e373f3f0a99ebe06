package io.pgbus;

/**
 * Gives payload classes the type name they are published under. A bean of this type
 * replaces the default, which takes {@link EventType} or else the simple name of the
 * class.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface EventTypeResolver {

	/**
	 * Returns the type name of a payload class.
	 * @param payloadType the class of a payload, or the parameter class of a listener
	 * method
	 * @return the type name: 1 to 200 characters, not blank
	 */
	String resolve(Class<?> payloadType);

}
