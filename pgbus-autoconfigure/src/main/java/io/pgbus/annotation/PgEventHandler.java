package io.pgbus.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * One of the methods of a class with {@link PgEventListener}. It is called for events of
 * the type that its payload parameter's class is published under
 * ({@link io.pgbus.EventType}, or else the simple name of the class). Events that no
 * method is for go to the default method; without one they are passed over.
 *
 * @since 0.1.0
 */
@Documented
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
public @interface PgEventHandler {

	/**
	 * Whether the method is the default one, for events of every type that no other
	 * method is for. Its payload parameter may be of any type that reads them all, such
	 * as a map or a string.
	 * @return {@code true} for one method of the class at most
	 */
	boolean isDefault() default false;

}
