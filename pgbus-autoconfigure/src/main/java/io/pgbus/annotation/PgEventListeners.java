package io.pgbus.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Holds several {@link PgEventListener} annotations; each makes a listener of its own.
 *
 * @since 0.1.0
 */
@Documented
@Target({ ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
public @interface PgEventListeners {

	/**
	 * The listeners.
	 * @return one annotation per listener
	 */
	PgEventListener[] value();

}
