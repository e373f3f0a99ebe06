package io.pgbus.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Makes a method of a bean the listener of one or more streams, or a class, whose methods
 * with {@link PgEventHandler} then share the events by type.
 * <p>
 * A method may have these parameters, in any order:
 * <ul>
 * <li>the payload, of any type that its JSON can be read as; {@code @Payload} is allowed
 * and not needed. With {@code @Valid} or {@code @Validated} it is validated by the
 * application's {@link org.springframework.validation.Validator}. It is never
 * {@code null}: a JSON null only fits types that have an object for it, such as
 * {@link java.util.Optional}</li>
 * <li>{@link io.pgbus.Event Event&lt;T&gt;} or
 * {@link org.springframework.messaging.Message Message&lt;T&gt;}</li>
 * <li>{@code @Header} and {@code @Headers}: the event's headers and those of
 * {@link PgHeaders}; not for a batch</li>
 * <li>{@link io.pgbus.Acknowledgment}: the event is handled when that says so</li>
 * </ul>
 * For {@code batch = "true"} it takes a {@code List} of payloads, {@code Event<T>} or
 * {@code Message<T>} instead. An event that does not fit the parameters, or is not valid,
 * fails with an {@link io.pgbus.UnreadableEventException} and is not tried again.
 * <p>
 * A method returns nothing, or a {@link java.util.concurrent.CompletionStage}: the event
 * is handled when that completes. Anything else is refused, since there is nobody to
 * reply to, and a reactive type would never be subscribed to. Events of methods that
 * finish asynchronously are delivered {@linkplain io.pgbus.DeliveryMode#AT_LEAST_ONCE at
 * least once}, since no transaction can wait for them; the same holds for all methods of
 * a class if one of them does.
 * <p>
 * A method whose payload class has {@link io.pgbus.EventType} receives events of that
 * type only, unless {@link #types()} says otherwise; any other method receives all.
 * <p>
 * The method is called on the bean as other beans see it, so that {@code @Transactional}
 * and other advice apply. It must therefore not be private or final if the bean is
 * proxied by a subclass, and belong to an interface if it is proxied by interfaces.
 * Annotations are also found on overridden and interface methods; the nearest counts.
 * Listeners are registered once all singletons have been made, those of beans that are
 * made later (lazy beans, prototypes, the products of factories) when the bean is made. A
 * second instance of a bean is refused unless {@code id} makes the difference, which
 * <code>#{__listener.property}</code> can do: {@code __listener} is the bean.
 * <p>
 * All attributes may use <code>${..}</code> and <code>#{..}</code>. One that is left
 * empty has the default of {@code pgbus.listener}.
 *
 * @see PgEventHandler
 * @see PgEventListenerAnnotationBeanPostProcessor
 * @since 0.1.0
 */
@Documented
@Target({ ElementType.TYPE, ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Repeatable(PgEventListeners.class)
public @interface PgEventListener {

	/**
	 * The streams. An entry with a placeholder may stand for several, separated by
	 * commas; an expression may give an array or a collection.
	 * @return at least one stream; the attribute may only be left empty where a composed
	 * annotation fills it in
	 */
	String[] streams() default {};

	/**
	 * The consumer group, which is the listener's identity in the database. It is never
	 * derived from names in the code, which change.
	 * @return the group; the property {@code pgbus.listener.group} if it is left empty,
	 * and it is an error if that is not set either
	 */
	String group() default "";

	/**
	 * The id of the listener, unique in the application.
	 * @return the id; the group if it is left empty, so that listeners that share a group
	 * need one
	 */
	String id() default "";

	/**
	 * The types of events that the listener handles; others are passed over. Entries may
	 * stand for several as those of {@link #streams()} may.
	 * @return the type names; if there are none, what the parameters say
	 */
	String[] types() default {};

	/**
	 * The number of workers.
	 * @return a number from 1
	 */
	String concurrency() default "";

	/**
	 * Where the group starts if it is made now. A group that exists goes on where it is.
	 * @return {@code latest}, {@code earliest}, an ISO-8601 instant or an event id
	 */
	String start() default "";

	/**
	 * The delivery mode.
	 * @return the name of a {@link io.pgbus.DeliveryMode}, case and hyphens aside
	 */
	String delivery() default "";

	/**
	 * Whether the method takes lists of events. A list is handled as a whole: with
	 * exactly-once delivery in one transaction. Only for methods, not for classes.
	 * @return {@code true} or {@code false}, which is the default
	 */
	String batch() default "";

	/**
	 * A condition on events, in SQL, evaluated by PostgreSQL: events that do not meet it
	 * are passed over. It may use the columns id, stream, partition, type, key, payload,
	 * headers and published_at.
	 * @return the condition, such as {@code payload->>'total' is not null}; every event
	 * passes if it is left empty
	 */
	String filter() default "";

	/**
	 * Whether the listener starts with the application.
	 * @return {@code true} or {@code false}; the property
	 * {@code pgbus.listener.auto-startup} if it is left empty
	 */
	String autoStartup() default "";

	/**
	 * The most attempts to handle an event, the first delivery included.
	 * @return a number from 1
	 */
	String attempts() default "";

	/**
	 * How long to wait between attempts.
	 * @return the waits
	 */
	BackOff backOff() default @BackOff;

	/**
	 * What becomes of later events with the key of a dead one.
	 * @return the name of an {@link io.pgbus.RetryPolicy.OnDead}, case and hyphens aside
	 */
	String onDead() default "";

	/**
	 * The bean that is asked what becomes of an event whose handler failed.
	 * @return the name of a bean that is an {@link io.pgbus.EventErrorHandler}, or an
	 * expression that gives one
	 */
	String errorHandler() default "";

}
