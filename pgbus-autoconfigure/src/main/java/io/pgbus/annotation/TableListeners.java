package io.pgbus.annotation;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

import io.pgbus.ListenedTable;
import io.pgbus.PgBusException;
import io.pgbus.TableBackfill;
import io.pgbus.TableChange;
import io.pgbus.TableOperation;
import io.pgbus.listener.ConfiguredTables;
import org.jspecify.annotations.Nullable;

/**
 * What listeners of tables have beyond the others.
 *
 * @param configured the tables that the configuration gives to groups
 */
record TableListeners(ConfiguredTables configured) {

	/** The tables of a listener. */
	List<ListenedTable> tables(PgTableListener annotation, String group, Attributes attributes, String listener) {
		List<ListenedTable> configured = this.configured.byGroup().get(group);
		if (configured != null) {
			return configured;
		}
		List<ListenedTable> tables = new ArrayList<>();
		for (PgTable table : annotation.tables()) {
			tables.add(new ListenedTable(name(table, attributes, listener), attributes.text("filter", table.filter()),
					operations(annotation, table, listener),
					new LinkedHashSet<>(attributes.names("columns", table.columns())), backfill(table, attributes)));
		}
		if (tables.isEmpty()) {
			throw new PgBusException(listener + " names no table. Set the attribute \"tables\", or properties such as "
					+ "pgbus.table-listeners." + group + ".tables[0].name=orders.");
		}
		return tables;
	}

	private static @Nullable TableBackfill backfill(PgTable table, Attributes attributes) {
		String query = attributes.text("backfill", table.backfill());
		String name = attributes.text("backfillName", table.backfillName());
		return (query != null)
				? new TableBackfill(query, table.liveChanges(), (name != null) ? name : TableBackfill.DEFAULT_NAME)
				: null;
	}

	private static String name(PgTable table, Attributes attributes, String listener) {
		String name = attributes.text("name", table.name());
		if (name == null) {
			throw new PgBusException(listener + " has a table without a name. Set the attribute \"name\" of @PgTable.");
		}
		return name;
	}

	private static Set<TableOperation> operations(PgTableListener annotation, PgTable table, String listener) {
		Set<TableOperation> operations = Set
			.of((table.operations().length > 0) ? table.operations() : annotation.operations());
		if (operations.isEmpty()) {
			throw new PgBusException(listener + " wants no operation of the table \"" + table.name()
					+ "\". Set the attribute \"operations\".");
		}
		return operations;
	}

	/** Checks that a method takes changes. */
	static void check(ListenerMethod method) {
		Class<?> payload = method.payloadClass();
		if (payload != null && payload != TableChange.class && payload != Object.class) {
			throw new PgBusException(method.description() + " takes " + payload.getName()
					+ ", but a table listener receives changes. Take a TableChange<" + payload.getSimpleName()
					+ ">, whose record() is the row.");
		}
	}

	/** Shares the changes of a listener that is a class among its methods. */
	TableRouter router(PgTableListener annotation, ListenerClass declared, Attributes attributes,
			Function<Method, ListenerMethod> factory) {
		String listener = declared.type().getName();
		Map<Class<?>, ListenerMethod> byRow = new LinkedHashMap<>();
		ListenerMethod defaultMethod = null;
		for (Map.Entry<Method, PgEventHandler> entry : declared.handlers().entrySet()) {
			ListenerMethod method = factory.apply(entry.getKey());
			check(method);
			Class<?> row = method.rowClass();
			ListenerMethod other;
			if (entry.getValue().isDefault() || row == null) {
				other = defaultMethod;
				defaultMethod = method;
			}
			else {
				other = byRow.put(row, method);
			}
			if (other != null) {
				throw new PgBusException(listener + " has two methods for the same rows: " + method.description()
						+ " and " + other.description() + ". Remove one of them.");
			}
		}
		return new TableRouter(listener, routes(annotation, attributes, listener, byRow, defaultMethod), defaultMethod);
	}

	private static List<TableRouter.Route> routes(PgTableListener annotation, Attributes attributes, String listener,
			Map<Class<?>, ListenerMethod> byRow, @Nullable ListenerMethod defaultMethod) {
		List<TableRouter.Route> routes = new ArrayList<>();
		for (PgTable table : annotation.tables()) {
			ListenerMethod method = byRow.getOrDefault(table.type(), defaultMethod);
			if (method == null) {
				throw new PgBusException(listener + " has no method for the table \"" + table.name()
						+ "\". Say by the attribute \"type\" of @PgTable what its rows are, and add a method with "
						+ "@PgEventHandler that takes a TableChange of it, or one with isDefault = true.");
			}
			routes.add(new TableRouter.Route(ListenedTable.of(name(table, attributes, listener)), method));
		}
		return routes;
	}

}
