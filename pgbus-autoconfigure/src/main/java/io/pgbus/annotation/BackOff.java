package io.pgbus.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * How long a listener waits between attempts. An attribute that is left empty has the
 * value of {@code pgbus.listener}; all may use <code>${..}</code> and <code>#{..}</code>.
 *
 * @see io.pgbus.RetryPolicy
 * @since 0.1.0
 */
@Documented
@Target({})
@Retention(RetentionPolicy.RUNTIME)
public @interface BackOff {

	/**
	 * The time from the first failure to the second attempt.
	 * @return a duration such as {@code 500ms}, {@code 2s} or {@code PT2S}; a plain
	 * number is milliseconds
	 */
	String delay() default "";

	/**
	 * What each later wait is longer by.
	 * @return a number from 1
	 */
	String multiplier() default "";

	/**
	 * The longest wait.
	 * @return a duration such as {@code 30s}; a plain number is milliseconds
	 */
	String maxDelay() default "";

	/**
	 * The part of a wait that is random.
	 * @return a number from 0 for none to 1
	 */
	String jitter() default "";

}
