package io.pgbus.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import io.pgbus.LiveChanges;
import io.pgbus.TableBackfill;
import io.pgbus.TableOperation;

/**
 * A table of a {@link PgTableListener}. The attributes that are text may use
 * <code>${..}</code> and <code>#{..}</code>.
 *
 * @since 0.1.0
 */
@Documented
@Target({})
@Retention(RetentionPolicy.RUNTIME)
public @interface PgTable {

	/**
	 * The table, as SQL has it: perhaps with a schema, in quotes where it has upper-case
	 * letters. Without a schema it is looked for along the search path.
	 * @return the name
	 */
	String name();

	/**
	 * A condition on the columns of a row, in SQL, evaluated by PostgreSQL: rows that do
	 * not meet it are passed over. It may call functions and use sub-selects, with the
	 * rights of the application's role.
	 * @return the condition, such as {@code processed_at is not null}; every row passes
	 * if it is left empty
	 */
	String filter() default "";

	/**
	 * Which operations of this table are wanted.
	 * @return the operations; if there are none, those of the listener
	 */
	TableOperation[] operations() default {};

	/**
	 * Columns of which an update must have changed at least one. The table needs replica
	 * identity full, or nobody can tell.
	 * @return the names as they are without quotes; any change counts if there are none
	 */
	String[] columns() default {};

	/**
	 * Rows of the table to begin with: when the group first listens to the table it gets
	 * them, as {@link TableOperation#READ}, and then the changes. With
	 * {@link TableOperation#READ} as the only operation it gets nothing else.
	 * @return a select that yields the primary key's columns, and others, by their names,
	 * such as {@code select * from orders}; no rows if it is left empty
	 */
	String backfill() default "";

	/**
	 * What becomes of changes while rows are backfilled.
	 * @return what becomes of them
	 */
	LiveChanges liveChanges() default LiveChanges.AFTER_BACKFILL;

	/**
	 * The name of the backfill. A group gets it once; with another name it gets the rows
	 * again.
	 * @return the name
	 */
	String backfillName() default TableBackfill.DEFAULT_NAME;

	/**
	 * The class of this table's rows, for a listener that is a class: its changes go to
	 * the method with {@link PgEventHandler} whose parameter is a
	 * {@link io.pgbus.TableChange} of it.
	 * @return the class; by default the table's changes go to the default method
	 */
	Class<?> type() default void.class;

}
