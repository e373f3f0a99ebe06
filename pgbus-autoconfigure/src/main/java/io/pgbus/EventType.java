package io.pgbus;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The name under which payloads of a class are published and found by listeners. It is
 * stored with every event, so it should outlive renames of the class; without this
 * annotation the simple name of the class is used.
 *
 * @since 0.1.0
 */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface EventType {

	/**
	 * The type name, for example {@code order.placed}: 1 to 200 characters, not blank.
	 * @return the type name
	 */
	String value();

}
