package io.pgbus.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import io.pgbus.TableOperation;

import org.springframework.core.annotation.AliasFor;

/**
 * Makes a method, or the methods of a class with {@link PgEventHandler}, listen to the
 * changes of tables, with the guarantees of every listener. A method takes a
 * {@link io.pgbus.TableChange}, whose argument is what rows are read as: a class, a
 * {@code Map} or a {@code JsonNode}; or an {@link io.pgbus.Event} of one, or with
 * {@code batch = "true"} a list of them.
 * <p>
 * Changes come from the database's write-ahead log, whoever made them: nothing is asked
 * of those who write. The group receives what is committed after it has first listened to
 * the table. The changes of one row come in the order of their commits.
 * <p>
 * Before a table is listened to it is checked that this does no harm. Its replica
 * identity must be good enough for the operations: with the default one, which is the
 * primary key, a delete has only the key.
 * <p>
 * The property {@code pgbus.table-listeners.<group>.tables} names tables instead of this
 * annotation. The attributes that are not explained here are those of
 * {@link PgEventListener}.
 *
 * @since 0.1.0
 */
@Documented
@Target({ ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@PgEventListener
public @interface PgTableListener {

	/**
	 * The tables.
	 * @return at least one, unless properties name them
	 */
	PgTable[] tables() default {};

	/**
	 * Which operations are wanted, where a table says nothing else.
	 * @return the operations; inserts and updates by default
	 */
	TableOperation[] operations() default { TableOperation.INSERT, TableOperation.UPDATE };

	/**
	 * The consumer group, see {@link PgEventListener#group()}.
	 * @return the group
	 */
	@AliasFor(annotation = PgEventListener.class)
	String group() default "";

	/**
	 * The id of the listener, see {@link PgEventListener#id()}.
	 * @return the id
	 */
	@AliasFor(annotation = PgEventListener.class)
	String id() default "";

	/**
	 * The number of workers.
	 * @return a number from 1
	 */
	@AliasFor(annotation = PgEventListener.class)
	String concurrency() default "";

	/**
	 * The delivery mode, see {@link PgEventListener#delivery()}.
	 * @return the name of a {@link io.pgbus.DeliveryMode}, case and hyphens aside
	 */
	@AliasFor(annotation = PgEventListener.class)
	String delivery() default "";

	/**
	 * Whether the method takes lists, see {@link PgEventListener#batch()}.
	 * @return {@code true} or {@code false}, which is the default
	 */
	@AliasFor(annotation = PgEventListener.class)
	String batch() default "";

	/**
	 * Whether the listener starts with the application.
	 * @return {@code true} or {@code false}; the property
	 * {@code pgbus.listener.auto-startup} if it is left empty
	 */
	@AliasFor(annotation = PgEventListener.class)
	String autoStartup() default "";

	/**
	 * The most attempts to handle a change, the first delivery included.
	 * @return a number from 1
	 */
	@AliasFor(annotation = PgEventListener.class)
	String attempts() default "";

	/**
	 * How long to wait between attempts.
	 * @return the waits
	 */
	@AliasFor(annotation = PgEventListener.class)
	BackOff backOff() default @BackOff;

	/**
	 * What becomes of later changes of a row with a dead one.
	 * @return the name of an {@link io.pgbus.RetryPolicy.OnDead}, case and hyphens aside
	 */
	@AliasFor(annotation = PgEventListener.class)
	String onDead() default "";

	/**
	 * The bean that is asked what becomes of a change whose handler failed.
	 * @return the name of a bean that is an {@link io.pgbus.EventErrorHandler}, or an
	 * expression that gives one
	 */
	@AliasFor(annotation = PgEventListener.class)
	String errorHandler() default "";

}
